#include "mega/infer/translation/beam_search.h"

#include <algorithm>
#include <numeric>

#include "mega/base/error.h"
#include "mega/infer/translation/alignment.h"
#include "mega/infer/translation/sentence_search.h"

namespace mega::infer {
namespace {

void check_sentence(const SearchSentence& sentence, const StepDecoder& decoder, int64_t types,
                    size_t number) {
  require(!sentence.source.empty() && sentence.source.back() == kEnd, "sentence ", number + 1,
          " does not end with </s>");
  for (const Token token : sentence.prefix) {
    require(token >= 0 && token < types, "sentence ", number + 1, ": token ", token,
            " of the prefix is outside 0 to ", types - 1, ", the model's vocabulary");
    require(token != kPad && token != kEnd, "sentence ", number + 1, ": the prefix contains ",
            token == kPad ? "padding" : "</s>", ", which no translation goes on after");
  }
  const auto room = decoder.max_positions() - 1;
  require(std::ssize(sentence.prefix) <= room, "sentence ", number + 1, ": a prefix of ",
          sentence.prefix.size(), " tokens, the model has room for ", room, ": shorten it");
}

int64_t longest_target(const SearchSentence& sentence, const SearchOptions& options,
                       const StepDecoder& decoder) {
  const double by_source = options.max_length_factor * static_cast<double>(sentence.source.size()) +
                           static_cast<double>(options.max_length_extra);
  constexpr double kMost = 1e15;
  auto longest = static_cast<int64_t>(std::min(by_source, kMost));
  if (options.max_length > 0) longest = std::min(longest, options.max_length);
  longest = std::max({longest, std::ssize(sentence.prefix), int64_t{1}});
  return std::min(longest, decoder.max_positions() - 1);
}

// The columns that the decoder gives from now on; none: all.
std::vector<Token> restriction(StepDecoder& decoder, std::span<const SearchSentence> sentences,
                               std::span<const std::vector<Token>> sources, const Shortlist* shortlist,
                               int64_t types) {
  if (shortlist == nullptr) return {};
  std::vector<Token> tokens = shortlist->candidates(sources);
  require(tokens.back() < types, "the shortlist has token ", tokens.back(), ", the model has only ", types,
          " tokens: it belongs to another model");
  for (const SearchSentence& sentence : sentences)
    tokens.insert(tokens.end(), sentence.prefix.begin(), sentence.prefix.end());
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  if (!decoder.restrict(tokens)) tokens.clear();
  return tokens;
}

struct Active {
  size_t sentence;
  int64_t first_row;  // of the step before; before the first step, the number of the source
};

}  // namespace

std::vector<NBest> beam_search(StepDecoder& decoder, std::span<const SearchSentence> sentences,
                               const SearchOptions& options, const TargetTokens& allowed) {
  check_search(options);
  const int64_t types = allowed.types > 0 ? allowed.types : decoder.vocabulary();
  require(types <= decoder.vocabulary(), "a vocabulary of ", types, " tokens, the model has only ",
          decoder.vocabulary(), ": it belongs to another model");
  std::vector<std::vector<Token>> sources;
  std::vector<SentenceSearch> searches;
  std::vector<Active> active;
  searches.reserve(sentences.size());
  for (size_t i = 0; i < sentences.size(); ++i) {
    check_sentence(sentences[i], decoder, types, i);
    sources.push_back(sentences[i].source);
    searches.emplace_back(options, sentences[i], longest_target(sentences[i], options, decoder));
    active.push_back({i, static_cast<int64_t>(i)});
  }
  if (sentences.empty()) return {};
  decoder.begin(sources);
  const std::vector<Token> columns = restriction(decoder, sentences, sources, allowed.shortlist, types);
  const int64_t width = columns.empty() ? decoder.vocabulary() : std::ssize(columns);
  const int64_t words = columns.empty() ? types : width;

  std::vector<int64_t> parents, aligned;
  std::vector<Token> tokens;
  while (!active.empty()) {
    parents.clear();
    tokens.clear();
    for (Active& each : active) {
      const int64_t before = each.first_row;
      each.first_row = std::ssize(parents);
      for (const SentenceSearch::Row& row : searches[each.sentence].rows()) {
        parents.push_back(before + row.parent);
        tokens.push_back(row.token);
      }
    }
    const std::span<const float> scores = decoder.step(parents, tokens);
    require(std::ssize(scores) == std::ssize(tokens) * width, "the decoder gave ", scores.size(),
            " log-probabilities for ", tokens.size(), " hypotheses: expected ", width, " each");
    aligned.clear();
    for (int64_t row = 0; row < std::ssize(tokens); ++row)
      aligned.push_back(aligned_position(decoder.alignment(row)));
    for (const Active& each : active) {
      SentenceSearch& search = searches[each.sentence];
      search.advance({scores.data() + each.first_row * width, width, words, columns,
                      std::span(aligned).subspan(static_cast<size_t>(each.first_row), search.rows().size())});
    }
    std::erase_if(active, [&](const Active& each) { return searches[each.sentence].rows().empty(); });
  }

  std::vector<NBest> results;
  for (SentenceSearch& search : searches) results.push_back(std::move(search).result());
  return results;
}

std::vector<std::vector<size_t>> length_batches(std::span<const SearchSentence> sentences,
                                                int64_t max_sentences, int64_t max_tokens) {
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return sentences[a].source.size() > sentences[b].source.size();
  });
  std::vector<std::vector<size_t>> batches;
  int64_t tokens = 0;
  for (const size_t i : order) {
    const int64_t own = std::ssize(sentences[i].source);
    const bool full =
        batches.empty() || std::ssize(batches.back()) >= max_sentences || tokens + own > max_tokens;
    if (full) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += own;
  }
  return batches;
}

std::vector<NBest> search_in_batches(StepDecoder& decoder, std::span<const SearchSentence> sentences,
                                     const SearchOptions& options, int64_t max_sentences, int64_t max_tokens,
                                     const TargetTokens& allowed) {
  std::vector<NBest> results(sentences.size());
  for (const std::vector<size_t>& batch : length_batches(sentences, max_sentences, max_tokens)) {
    std::vector<SearchSentence> some;
    for (const size_t i : batch) some.push_back(sentences[i]);
    std::vector<NBest> found = beam_search(decoder, some, options, allowed);
    for (size_t k = 0; k < batch.size(); ++k) results[batch[k]] = std::move(found[k]);
  }
  return results;
}

}  // namespace mega::infer
