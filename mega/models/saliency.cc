#include "mega/models/saliency.h"

#include "mega/base/error.h"

namespace mega::models {

using torch::Tensor;

Tensor saliency(SequenceModel& model, const Sequences& input, const Tensor& labels) {
  require(
      input.values.defined() && input.values.is_floating_point(),
      "saliency: expected pictures, sounds or series; tokens are not numbers that a gradient could change");
  require(labels.dim() == 1 && labels.size(0) == input.values.size(0),
          "saliency: expected a class for each of ", input.values.size(0), " inputs, got ", labels.sizes());
  const bool was_training = model.is_training();
  model.eval();
  const torch::AutoGradMode gradients(true);
  const Tensor x = input.values.detach().clone().requires_grad_(true);
  const Tensor scores = model.predict({{x, input.lengths}});
  const Tensor chosen = scores.gather(1, labels.unsqueeze(1)).sum();
  const Tensor gradient = torch::autograd::grad({chosen}, {x}).front();
  model.train(was_training);
  const Tensor products = (x * gradient).detach();
  return products.dim() > 2 ? products.sum(2) : products;
}

}  // namespace mega::models
