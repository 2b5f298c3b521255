// Metrics of translations: how close a hypothesis is to the references that people wrote.
//
// A metric makes numbers of each sentence that add up to those of a corpus, and a score of such sums. So
// sentences can be scored anywhere (other threads, other machines) and drawn again for a bootstrap, and only
// numbers travel:
//
//   const auto bleu = make_metric(MetricKind::bleu, {});
//   Statistics sum;
//   for (...) add(sum, bleu->statistics(hypothesis, references));
//   std::printf("%.2f\n", bleu->score(sum));
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/text/metrics/bleu_tokens.h"

namespace mega {

enum class MetricKind { bleu, chrf, chrf_plus_plus, ter };

template <>
struct EnumNames<MetricKind> {
  static constexpr auto names = enum_table<MetricKind>({{MetricKind::bleu, "bleu"},
                                                        {MetricKind::chrf, "chrf"},
                                                        {MetricKind::chrf_plus_plus, "chrf++"},
                                                        {MetricKind::ter, "ter"}});
};

// What becomes of an order of n-grams without any match: BLEU is a geometric mean, which it would make 0.
// Chen and Cherry 2014 compare these.
enum class BleuSmoothing { exp, floor, add_k, none };

template <>
struct EnumNames<BleuSmoothing> {
  static constexpr auto names = enum_table<BleuSmoothing>({{BleuSmoothing::exp, "exp"},
                                                           {BleuSmoothing::floor, "floor"},
                                                           {BleuSmoothing::add_k, "add-k"},
                                                           {BleuSmoothing::none, "none"}});
};

// The defaults are sacreBLEU's. `lowercase` is for BLEU and chrF (TER always ignores case), the rest for
// BLEU.
struct MetricOptions {
  BleuTokens tokenize = BleuTokens::v13a;
  bool compounds = false;
  bool lowercase = false;
  BleuSmoothing smooth = BleuSmoothing::exp;
  double smooth_value = -1;
  int64_t order = 4;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("tokenize", self.tokenize, "BLEU: how lines are cut into tokens");
    v.field("compounds", self.compounds,
            "BLEU of tokens (multi-bleu): split compounds at their hyphens, as Transformer papers do");
    v.field("lowercase", self.lowercase, "ignore case (TER always does)");
    v.field("smooth", self.smooth, "BLEU: what an order of n-grams without any match counts");
    v.field("smooth_value", self.smooth_value,
            "BLEU: value of floor or add-k smoothing; -1: 0.1 for floor, 1 for add-k", Range{-1, 1e6});
    v.field("order", self.order, "BLEU: longest n-grams", Range{1, 64});
  }
};

// Numbers of a sentence, or their sum over many. Each metric says which; all but TER's lengths are whole.
using Statistics = std::vector<double>;

// An empty sum takes the size of what is added.
void add(Statistics& sum, const Statistics& more);

class Metric {
 public:
  virtual ~Metric() = default;

  virtual std::string name() const = 0;  // "BLEU", "chrF2++"
  virtual std::string key() const = 0;   // "bleu", "chrfpp": its name in JSON
  virtual bool lower_is_better() const { return false; }

  // All that decides the score, as sacreBLEU writes it, with our own version. `corpus` goes before it:
  // "nrefs:1".
  virtual std::string signature(const std::string& corpus, bool sentences) const = 0;

  // There must be a reference; one may be empty, and so may the hypothesis.
  virtual Statistics statistics(std::string_view hypothesis,
                                std::span<const std::string> references) const = 0;

  // 0 to 100; TER, a rate of errors, may be above. An empty sum scores 0.
  virtual double score(const Statistics& corpus) const = 0;
  virtual double sentence_score(const Statistics& sentence) const { return score(sentence); }
};

// Error if the options do not fit together.
std::unique_ptr<Metric> make_metric(MetricKind kind, const MetricOptions& options);

// Of each sentence. `references[r]` is a translation of all of them.
std::vector<Statistics> corpus_statistics(const Metric& metric, std::span<const std::string> hypotheses,
                                          std::span<const std::vector<std::string>> references);

Statistics sum_of(std::span<const Statistics> sentences);

}  // namespace mega
