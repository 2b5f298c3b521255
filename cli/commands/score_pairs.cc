#include "cli/commands/score_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "cli/commands/generation_report.h"
#include "cli/commands/token_pairs.h"
#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/infer/translation/score_pairs.h"
#include "mega/report/progress.h"

namespace mega::cli {
namespace {

constexpr size_t kBatch = 32, kWindow = 8 * kBatch;  // pairs of a batch are equally long

// The log-probabilities of all tokens of each target, in the order of the pairs.
std::vector<std::vector<float>> score_window(infer::StepDecoder& decoder,
                                             const std::vector<TokenPair>& pairs) {
  std::vector<size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return pairs[a].target.size() > pairs[b].target.size(); });
  std::vector<std::vector<float>> scores(pairs.size());
  for (size_t begin = 0; begin < order.size(); begin += kBatch) {
    const auto batch = std::span(order).subspan(begin, std::min(kBatch, order.size() - begin));
    std::vector<std::vector<Token>> sources, targets;
    for (const size_t i : batch) {
      sources.push_back(pairs[i].source);
      targets.push_back(pairs[i].target);
    }
    std::vector<std::vector<float>> some = infer::score_pairs(decoder, sources, targets);
    for (size_t k = 0; k < batch.size(); ++k) scores[batch[k]] = std::move(some[k]);
  }
  return scores;
}

class PairPrinter {
 public:
  // `before`: pairs before the first that is printed.
  PairPrinter(int64_t before, bool json) : before_(before), json_(json) {}

  void print(const TokenPair& pair, const std::vector<float>& log_probabilities) {
    const double sum = std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
    if (json_)
      print_json({{"line", before_ + pairs_ + 1},
                  {"log_probability", sum},
                  {"tokens", pair.target.size()},
                  {"unknown", std::count(pair.target.begin(), pair.target.end(), kUnknown)}});
    else
      std::printf("%.4f\n", sum);
    require(std::ferror(stdout) == 0, "cannot write to standard output");
    ++pairs_;
    tokens_ += std::ssize(pair.target);
    sum_ += sum;
  }

  int64_t pairs() const { return pairs_; }

  void print_all() const {
    const double mean = tokens_ > 0 ? sum_ / static_cast<double>(tokens_) : 0.0;
    std::fprintf(stderr, "[%s pairs, %s target tokens, perplexity %.4f]\n", with_thousands(pairs_).c_str(),
                 with_thousands(tokens_).c_str(), std::exp(-mean));
  }

 private:
  int64_t before_;
  bool json_;
  int64_t pairs_ = 0, tokens_ = 0;
  double sum_ = 0.0;
};

InputRange part_of(const PairArguments& arguments, const AnyTranslator& translator, const Shard& shard) {
  if (shard.is_whole()) return {};
  const FirstReading reading(arguments.files);
  return shard.range(TokenPairReader(arguments, translator).skip(std::numeric_limits<int64_t>::max()));
}

}  // namespace

void score_pairs(const OpenRequest& model, const PairArguments& arguments, const Shard& shard, bool json) {
  const AnyTranslator translator = open_translator(model);
  const InputRange part = part_of(arguments, translator, shard);
  TokenPairReader reader(arguments, translator);
  reader.skip(part.begin);
  PairPrinter printer(part.begin, json);
  int64_t left = part.end - part.begin;
  std::optional<Progress> progress;
  progress.emplace("scoring", 0, "pairs");
  for (bool more = true; more;) {
    std::vector<TokenPair> pairs;
    TokenPair pair;
    while (pairs.size() < kWindow && (more = left > 0 && reader.next(pair))) {
      pairs.push_back(std::move(pair));
      --left;
    }
    const auto scores = score_window(*translator.decoder, pairs);
    for (size_t i = 0; i < pairs.size(); ++i) printer.print(pairs[i], scores[i]);
    progress->update(printer.pairs());
  }
  progress.reset();
  if (reader.cut() > 0)
    std::fprintf(stderr, "note: %s of %s pairs are longer than the model reads, and were cut\n",
                 with_thousands(reader.cut()).c_str(), with_thousands(printer.pairs()).c_str());
  printer.print_all();
}

}  // namespace mega::cli
