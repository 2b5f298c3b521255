#include "mega/text/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "mega/base/error.h"
#include "mega/base/version.h"
#include "mega/text/metrics/words.h"
#include "mega/text/unicode/lower_case.h"

namespace mega {
namespace {

std::string ascii_lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool has_value(BleuSmoothing smooth) {
  return smooth == BleuSmoothing::floor || smooth == BleuSmoothing::add_k;
}

int64_t closest_length(int64_t length, std::span<const UnitSequence> references) {
  int64_t closest = references.front().size();
  for (const UnitSequence& reference : references) {
    const int64_t other = reference.size();
    const int64_t distance = std::abs(other - length), least = std::abs(closest - length);
    if (distance < least || (distance == least && other < closest)) closest = other;
  }
  return closest;
}

// Each n-gram as often as in the reference that has it most often.
NgramCounts most_in_any(std::span<const UnitSequence> references, int64_t order) {
  NgramCounts most = count_ngrams(references.front(), order);
  for (const UnitSequence& reference : references.subspan(1)) {
    for (const auto& [ngram, count] : count_ngrams(reference, order)) {
      int64_t& known = most[ngram];
      known = std::max(known, count);
    }
  }
  return most;
}

}  // namespace

Bleu::Bleu(const MetricOptions& options) : options_(options), smooth_value_(options.smooth_value) {
  require(!options.compounds || options.tokenize == BleuTokens::multi_bleu,
          "compounds are split only for the tokenisation multi-bleu, not for ", to_string(options.tokenize));
  require(options.smooth_value < 0 || has_value(options.smooth), "smoothing ", to_string(options.smooth),
          " takes no value; floor and add-k do");
  if (smooth_value_ < 0) smooth_value_ = options.smooth == BleuSmoothing::floor ? 0.1 : 1;
}

std::string Bleu::signature(const std::string& corpus, bool sentences) const {
  std::string smooth(to_string(options_.smooth));
  if (has_value(options_.smooth)) {
    char value[32];
    std::snprintf(value, sizeof value, "[%.2f]", smooth_value_);
    smooth += value;
  }
  std::string tokens(to_string(options_.tokenize));
  if (options_.compounds) tokens += "-compounds";
  std::string result = corpus + "|case:" + (options_.lowercase ? "lc" : "mixed") +
                       "|eff:" + (sentences ? "yes" : "no") + "|tok:" + tokens + "|smooth:" + smooth;
  if (options_.order != MetricOptions{}.order) result += "|order:" + std::to_string(options_.order);
  return result + "|version:mega-" + version();
}

UnitSequence Bleu::tokens(std::string_view line) const {
  if (options_.tokenize == BleuTokens::multi_bleu) {
    std::string text = options_.compounds ? split_compounds(line) : std::string(line);
    if (options_.lowercase) text = ascii_lower_case(std::move(text));
    return UnitSequence::of_words(split_ascii_words(text));
  }
  const std::string text = options_.lowercase ? bleu_tokenized(lower_case(line), options_.tokenize)
                                              : bleu_tokenized(line, options_.tokenize);
  return UnitSequence::of_words(split_words(text));
}

Statistics Bleu::statistics(std::string_view hypothesis, std::span<const std::string> references) const {
  require(!references.empty(), "BLEU needs a reference");
  const UnitSequence guess = tokens(hypothesis);
  std::vector<UnitSequence> truth;
  for (const std::string& reference : references) truth.push_back(tokens(reference));

  const auto order = static_cast<size_t>(options_.order);
  Statistics result(2 + 2 * order);
  result[0] = static_cast<double>(guess.size());
  result[1] = static_cast<double>(closest_length(guess.size(), truth));
  for (size_t n = 0; n < order; ++n) {
    const auto length = static_cast<int64_t>(n + 1);
    result[2 + n] = static_cast<double>(matches(count_ngrams(guess, length), most_in_any(truth, length)));
    result[2 + order + n] = static_cast<double>(guess.ngrams(length));
  }
  return result;
}

BleuScore Bleu::details(const Statistics& sum, bool effective_order) const {
  const auto order = static_cast<size_t>(options_.order);
  BleuScore result;
  result.precisions.resize(order);
  result.matches.resize(order);
  result.totals.resize(order);
  if (sum.empty()) return result;
  require(sum.size() == 2 + 2 * order, "BLEU of order ", order, " needs ", 2 + 2 * order, " numbers, not ",
          sum.size());

  result.hypothesis_length = sum[0];
  result.reference_length = sum[1];
  std::copy_n(sum.begin() + 2, order, result.matches.begin());
  std::copy_n(sum.begin() + 2 + static_cast<std::ptrdiff_t>(order), order, result.totals.begin());
  if (sum[0] >= sum[1])
    result.brevity_penalty = 1;
  else if (sum[0] > 0)
    result.brevity_penalty = std::exp(1 - sum[1] / sum[0]);
  // No smoothing makes a score of nothing at all.
  if (std::all_of(result.matches.begin(), result.matches.end(), [](double count) { return count == 0; }))
    return result;

  double halves = 1;  // exp smoothing: orders without a match count 1/2, 1/4, 1/8 of one
  size_t orders = order;
  for (size_t n = 0; n < order; ++n) {
    const double added = options_.smooth == BleuSmoothing::add_k && n > 0 ? smooth_value_ : 0;
    const double total = result.totals[n] + added;
    double match = result.matches[n] + added;
    if (total == 0) break;
    if (effective_order) orders = n + 1;
    if (match == 0 && options_.smooth == BleuSmoothing::exp) match = 1 / (halves *= 2);
    if (match == 0 && options_.smooth == BleuSmoothing::floor) match = smooth_value_;
    result.precisions[n] = 100 * match / total;
  }
  double logarithms = 0;  // of 0: minus infinity, and the score is 0
  for (size_t n = 0; n < orders; ++n) logarithms += std::log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(logarithms / static_cast<double>(orders));
  return result;
}

}  // namespace mega
