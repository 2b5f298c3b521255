// chrF (Popović 2015) and chrF++ (2017) as sacreBLEU computes them: precision and recall of n-grams of
// characters, up to six, and for chrF++ of words, up to two, as an F-score in which recall counts twice as
// much.
#pragma once

#include "mega/text/metrics/metric.h"

namespace mega {

class Chrf : public Metric {
 public:
  Chrf(int64_t word_order, bool lowercase) : word_order_(word_order), lowercase_(lowercase) {}

  std::string name() const override;
  std::string key() const override { return word_order_ > 0 ? "chrfpp" : "chrf"; }
  std::string signature(const std::string& corpus, bool sentences) const override;

  // For each order, first those of characters: n-grams of the hypothesis (0 where the reference has none of
  // the order), of the reference, of both. Of several references, the one with the best score.
  Statistics statistics(std::string_view hypothesis, std::span<const std::string> references) const override;

  // Orders of which hypothesis or reference have no n-grams do not count.
  double score(const Statistics& sum) const override;

 private:
  int64_t word_order_;
  bool lowercase_;
};

}  // namespace mega
