#include "mega/data/parallel/parallel_corpus.h"

#include <string_view>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/hash.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/data/corpus/cache_folder.h"
#include "mega/data/corpus/kept_tokens.h"
#include "mega/data/corpus/late_progress.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// A line of any length, in parts that a builder can hold.
void add_line(TokenizerBuilder& builder, std::string_view line) {
  constexpr size_t kLongestPart = size_t{1} << 20;
  do {
    std::string_view part = whole_characters(line, kLongestPart);
    if (part.empty()) part = line.substr(0, kLongestPart);  // no UTF-8
    builder.add_line(part);
    line.remove_prefix(part.size());
  } while (!line.empty());
}

enum class Sides { both, source, target };

// Learns from one side of the training text, or from both.
std::shared_ptr<const Tokenizer> learn_side(const PairText& text, Sides sides,
                                            const TokenizerOptions& options,
                                            const PairPreparation& preparation, bool skip_broken,
                                            const fs::path& folder) {
  const auto add = [](const std::string& line, const PairPreparation::Prepare& prepare,
                      TokenizerBuilder& builder) {
    if (!trim(line).empty()) add_line(builder, prepare ? prepare(line) : line);
  };
  const uint64_t fingerprint =
      hash_number(static_cast<uint64_t>(sides), hash_number(preparation.fingerprint, text.fingerprint()));
  return learn_tokenizer(options, fingerprint, folder, [&](TokenizerBuilder& builder) {
    LateProgress progress("learning the vocabulary", 0, "pairs");
    Problems problems(skip_broken);
    PairReader reader(text, problems);
    int64_t count = 0;
    for (Pair pair; reader.next(pair); progress.update(++count)) {
      if (sides != Sides::target) add(pair.source, preparation.source, builder);
      if (sides != Sides::source) add(pair.target, preparation.target, builder);
    }
    require(count > 0, text.name, ": an empty text; there is nothing to learn from");
  });
}

TranslationTokenizers learn_tokenizers(const PairText& text, const ParallelRequest& request,
                                       const fs::path& folder) {
  const TranslationInput& input = request.input;
  const auto learn = [&](Sides sides, const TokenizerOptions& options) {
    return learn_side(text, sides, options, request.preparation, request.data.skip_broken, folder);
  };
  TranslationTokenizers tokenizers;
  if (input.joint) {
    require(input.target_model.empty(),
            "input.target_model is for a target with a vocabulary of its own: set input.joint=false");
    tokenizers.source = tokenizers.target = learn(Sides::both, input);
    return tokenizers;
  }
  tokenizers.source = learn(Sides::source, input);
  tokenizers.target = learn(Sides::target, target_options(input));
  return tokenizers;
}

std::string data_checksum(const ParallelCorpus& corpus, TextUnits units) {
  const TranslationTokenizers& both = corpus.tokenizers;
  uint64_t checksum = stream_seed(tokenizer_fingerprint(*both.source, units), "parallel text",
                                  tokenizer_fingerprint(*both.target, units));
  for (const PairPart* part : corpus.parts())
    for (const TokenLines* side : {&part->source, &part->target})
      checksum = stream_seed(checksum, "tokens", side->text().file ? side->text().file->checksum() : 0);
  return hexadecimal(checksum);
}

}  // namespace

std::vector<const PairPart*> ParallelCorpus::parts() const {
  std::vector<const PairPart*> parts = {&train, &valid};
  for (const PairPart& test : tests) parts.push_back(&test);
  return parts;
}

ParallelCorpus load_parallel(const ParallelRequest& request) {
  const DataOptions& data = request.data;
  const TranslationInput& input = request.input;
  const fs::path folder = cache_folder("tokens");
  remove_leftovers(folder);
  Problems problems(data.skip_broken);
  ParallelTexts texts = find_parallel_texts(data, input, folder, problems);
  ParallelCorpus corpus;
  corpus.languages = texts.languages;
  corpus.tokenizers = request.known;
  const bool training = corpus.tokenizers.source == nullptr;
  require(request.train || !training, "an evaluation needs the tokenizers of its model");
  if (training) {
    require(!texts.train.empty(), data.path, ": no text to train on: all files are named for ",
            "validation or test");
    corpus.tokenizers = learn_tokenizers(texts.train, request, folder);
  }

  PairEncoding encoding{corpus.tokenizers, request.preparation, 0, input.max_length};
  for (const Tokenizer* tokenizer : {corpus.tokenizers.source.get(), corpus.tokenizers.target.get()})
    encoding.fingerprint = hash_number(tokenizer_fingerprint(*tokenizer, input.units), encoding.fingerprint);
  encoding.fingerprint = hash_number(request.preparation.fingerprint, encoding.fingerprint);
  const int64_t evaluation_limit = data.evaluation_limit > 0 ? data.evaluation_limit : data.limit;
  bool counted_divided = false;  // the parts of a division all read the same rows
  const auto load = [&](const PairText& text, const PairSelection& selection) {
    PairPart part = load_pairs(text, encoding, selection, folder);
    if (!text.division || !std::exchange(counted_divided, true)) corpus.problems += part.counts.broken;
    return part;
  };
  const PairSelection evaluated{false, 0.0, evaluation_limit, data.skip_broken};
  if (request.train) corpus.train = load(texts.train, {true, data.max_ratio, data.limit, data.skip_broken});
  corpus.valid = load(texts.valid, evaluated);
  for (const PairText& text : texts.tests) corpus.tests.push_back(load(text, evaluated));

  int64_t pairs = 0;
  for (const PairPart* part : corpus.parts()) pairs += part->size();
  const PairCounts& left_out = corpus.train.counts;
  require(!training || !corpus.train.empty(), data.path, ": nothing is left to train on: of ",
          with_thousands(left_out.read()), " pairs, ", with_thousands(left_out.empty),
          " have an empty side, ", with_thousands(left_out.too_long),
          " are longer than input.max_length and ", with_thousands(left_out.unbalanced),
          " have sides that differ by more than data.max_ratio");
  require(pairs > 0, data.path, ": an empty text; there is nothing to learn from or to evaluate");
  corpus.problems += problems.count();
  corpus.first_problems = problems.first();
  corpus.checksum = data_checksum(corpus, input.units);
  return corpus;
}

std::vector<Problem> list_problems(const ParallelCorpus& corpus) {
  std::vector<Problem> list = corpus.first_problems;
  for (const PairPart* part : corpus.parts()) {
    if (part->counts.broken == 0) continue;
    Problems problems(true);
    PairReader reader(part->text, problems);
    for (Pair pair; reader.next(pair);) {
    }
    list.insert(list.end(), problems.first().begin(), problems.first().end());
    if (part->text.division) break;  // the others read the same rows
  }
  return list;
}

}  // namespace mega::data
