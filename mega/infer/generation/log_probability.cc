#include "mega/infer/generation/log_probability.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"

namespace mega::infer {

double log_probability(std::span<const float> logits, int32_t token) {
  require(token >= 0 && static_cast<size_t>(token) < logits.size(), "token ", token, ": the model has only ",
          logits.size(), " tokens");
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - most));
  // Infinity minus infinity is NaN, so one test covers all cases.
  require(!std::isnan(sum),
          "the model's logits are not finite: its weights are damaged, or training diverged");
  return static_cast<double>(logits[static_cast<size_t>(token)]) - static_cast<double>(most) - std::log(sum);
}

}  // namespace mega::infer
