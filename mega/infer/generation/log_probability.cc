#include "mega/infer/generation/log_probability.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/infer/softmax.h"

namespace mega::infer {

double log_probability(std::span<const float> logits, int32_t token) {
  require(token >= 0 && static_cast<size_t>(token) < logits.size(), "token ", token, ": the model has only ",
          logits.size(), " tokens");
  const ExpSum all = exp_sum(logits);
  require(!std::isnan(all.sum),
          "the model's logits are not finite: its weights are damaged, or training diverged");
  return static_cast<double>(logits[static_cast<size_t>(token)]) - static_cast<double>(all.max) -
         std::log(all.sum);
}

}  // namespace mega::infer
