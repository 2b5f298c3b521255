// What golden files of all classifiers compare.
#pragma once

#include "mega/models/encoder_model.h"
#include "tests/golden/golden.h"

namespace mega::testing {

// The pooled output of a model's encoder; in training mode this may update batch statistics once more.
inline Tensor pooled(models::EncoderModel& model, const models::Sequences& batch) {
  const torch::NoGradGuard guard;
  return model.encode(batch);
}

inline void check_classifier(Golden& golden, const Tensor& logits) {
  golden.check({{"y", logits}});
  const Tensor target = golden.optional_input("target");
  if (target.defined())
    golden.aux("nll_sum",
               torch::nll_loss(logits.log_softmax(1), target, {}, at::Reduction::Sum).reshape({1}));
}

}  // namespace mega::testing
