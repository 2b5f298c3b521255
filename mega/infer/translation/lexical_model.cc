#include "mega/infer/translation/lexical_model.h"

#include <algorithm>
#include <numeric>

#include "mega/base/error.h"
#include "mega/infer/layers/check_tokens.h"

namespace mega::infer {

LexicalModel::LexicalModel(int64_t source_vocabulary, int64_t target_vocabulary,
                           const ShortlistOptions& options)
    : source_vocabulary_(source_vocabulary),
      target_vocabulary_(target_vocabulary),
      options_(options),
      entries_(static_cast<size_t>(source_vocabulary) + 1) {
  check_ranges(options, "shortlist");
}

bool LexicalModel::add(std::span<const Token> source, std::span<const Token> target) {
  check_tokens(source, source_vocabulary_);
  check_tokens(target, target_vocabulary_);
  const bool fits = std::ssize(source) <= options_.longest && std::ssize(target) <= options_.longest;
  if (!fits || source.empty() || target.empty() || pairs() >= options_.sentences) return false;
  pairs_.push_back(
      {tokens_.size(), static_cast<uint32_t>(source.size()), static_cast<uint32_t>(target.size())});
  tokens_.insert(tokens_.end(), source.begin(), source.end());
  tokens_.insert(tokens_.end(), target.begin(), target.end());
  return true;
}

size_t LexicalModel::Entry::find(Token target) const {
  return static_cast<size_t>(std::lower_bound(targets.begin(), targets.end(), target) - targets.begin());
}

// body(source, target), where the source is followed by the entry of no token.
template <class Body>
void LexicalModel::for_each_pair(const Body& body) const {
  std::vector<size_t> source;
  for (const Pair& pair : pairs_) {
    const std::span all(tokens_.data() + pair.begin, pair.source + pair.target);
    source.assign(all.begin(), all.begin() + pair.source);
    source.push_back(entries_.size() - 1);
    body(source, all.subspan(pair.source));
  }
}

// Which tokens occur together. Lists are made distinct when they have doubled, so that memory stays small.
void LexicalModel::collect() {
  std::vector<size_t> distinct(entries_.size(), 16);
  const auto tidy = [](std::vector<Token>& targets) {
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  };
  for_each_pair([&](const std::vector<size_t>& source, std::span<const Token> target) {
    for (const size_t s : source) {
      std::vector<Token>& targets = entries_[s].targets;
      targets.insert(targets.end(), target.begin(), target.end());
      if (targets.size() < 2 * distinct[s]) continue;
      tidy(targets);
      distinct[s] = std::max(distinct[s], targets.size());
    }
  });
  for (Entry& entry : entries_) {
    tidy(entry.targets);
    entry.targets.shrink_to_fit();
    entry.probabilities.assign(entry.targets.size(), 1.0f);  // any equal numbers
    entry.counts.assign(entry.targets.size(), 0.0f);
  }
}

void LexicalModel::pass() {
  std::vector<size_t> places;
  for_each_pair([&](const std::vector<size_t>& source, std::span<const Token> target) {
    for (const Token t : target) {
      places.clear();
      float sum = 0.0f;
      for (const size_t s : source) {
        places.push_back(entries_[s].find(t));
        sum += entries_[s].probabilities[places.back()];
      }
      if (sum <= 0.0f) continue;
      for (size_t i = 0; i < source.size(); ++i) {
        Entry& entry = entries_[source[i]];
        entry.counts[places[i]] += entry.probabilities[places[i]] / sum;
      }
    }
  });
  for (Entry& entry : entries_) {
    const double sum = std::accumulate(entry.counts.begin(), entry.counts.end(), 0.0);
    for (size_t i = 0; i < entry.counts.size(); ++i) {
      entry.probabilities[i] =
          sum > 0.0 ? static_cast<float>(static_cast<double>(entry.counts[i]) / sum) : 0.0f;
      entry.counts[i] = 0.0f;
    }
  }
}

Shortlist LexicalModel::learn() {
  require(!pairs_.empty(), "a shortlist needs parallel text: no pair of sentences of at most ",
          options_.longest, " tokens was given");
  collect();
  for (int64_t i = 0; i < options_.passes; ++i) pass();

  std::vector<size_t> order;
  // The best of `count` things by `value`, the first of equal ones.
  const auto best = [&](size_t count, int64_t most, const auto& value) {
    order.resize(count);
    std::iota(order.begin(), order.end(), size_t{0});
    const size_t some = std::min(count, static_cast<size_t>(most));
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(some), order.end(),
                      [&](size_t a, size_t b) { return value(a) != value(b) ? value(a) > value(b) : a < b; });
    return std::span(order).first(some);
  };
  std::vector<std::vector<Token>> likely(static_cast<size_t>(source_vocabulary_));
  for (size_t s = 0; s < likely.size(); ++s) {
    const Entry& entry = entries_[s];
    for (const size_t i :
         best(entry.targets.size(), options_.per_word, [&](size_t k) { return entry.probabilities[k]; }))
      likely[s].push_back(entry.targets[i]);
  }
  std::vector<int64_t> occurrences(static_cast<size_t>(target_vocabulary_));
  for_each_pair([&](const std::vector<size_t>&, std::span<const Token> target) {
    for (const Token t : target) ++occurrences[static_cast<size_t>(t)];
  });
  std::vector<Token> always;
  for (const size_t t : best(occurrences.size(), options_.frequent, [&](size_t k) { return occurrences[k]; }))
    if (occurrences[t] > 0) always.push_back(static_cast<Token>(t));
  return {std::move(likely), std::move(always)};
}

}  // namespace mega::infer
