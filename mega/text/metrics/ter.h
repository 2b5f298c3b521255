// TER, the translation edit rate (Snover et al. 2006), as sacreBLEU computes it with its default options,
// after tercom: the least number of words to be added, left out, replaced or moved (any number of neighbours
// at once) to make a hypothesis its reference, as a share of the reference's words. Lower is better.
//
// Words are what stands between space, in lower case; punctuation belongs to them.
#pragma once

#include "mega/text/metrics/metric.h"

namespace mega {

class Ter : public Metric {
 public:
  std::string name() const override { return "TER"; }
  std::string key() const override { return "ter"; }
  bool lower_is_better() const override { return true; }
  std::string signature(const std::string& corpus, bool sentences) const override;

  // Edits to the reference that needs fewest; mean length of the references.
  Statistics statistics(std::string_view hypothesis, std::span<const std::string> references) const override;

  double score(const Statistics& sum) const override;
};

}  // namespace mega
