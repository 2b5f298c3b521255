// BLEU (Papineni et al. 2002) as sacreBLEU computes it, and, of text that is tokenised already, as Moses'
// multi-bleu.perl does: the geometric mean of the shares of a hypothesis' n-grams that its references have,
// times a penalty where it is shorter than they are.
#pragma once

#include "mega/text/metrics/metric.h"
#include "mega/text/metrics/ngrams.h"

namespace mega {

// A score and what it is made of.
struct BleuScore {
  double score = 0;
  std::vector<double> precisions;  // by order of the n-grams, smoothed, in percent
  double brevity_penalty = 0;
  double hypothesis_length = 0, reference_length = 0;  // tokens
  std::vector<double> matches, totals;                 // n-grams by order, not smoothed

  double length_ratio() const { return reference_length > 0 ? hypothesis_length / reference_length : 0; }
};

class Bleu : public Metric {
 public:
  explicit Bleu(const MetricOptions& options);

  std::string name() const override { return "BLEU"; }
  std::string key() const override { return "bleu"; }
  std::string signature(const std::string& corpus, bool sentences) const override;

  // Length, length of the reference that is closest (the shorter of two), then matches and totals by order.
  // An n-gram matches as often as the reference that has it most often.
  Statistics statistics(std::string_view hypothesis, std::span<const std::string> references) const override;

  double score(const Statistics& corpus) const override { return details(corpus).score; }
  // Of the orders of which the sentence has n-grams.
  double sentence_score(const Statistics& sentence) const override { return details(sentence, true).score; }

  // `effective_order`: orders of which there are no n-grams, because sentences are too short, do not count.
  BleuScore details(const Statistics& sum, bool effective_order = false) const;

 private:
  UnitSequence tokens(std::string_view line) const;

  MetricOptions options_;
  double smooth_value_;
};

}  // namespace mega
