#include "mega/nn/adaptive_softmax.h"

#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"
#include "mega/ops/softmax_loss.h"
#include "mega/text/tokens.h"

namespace mega::nn {

using torch::Tensor;

AdaptiveSoftmaxImpl::AdaptiveSoftmaxImpl(const AdaptiveEmbedding& embedding, int64_t width,
                                         const AdaptiveSoftmaxOptions& options)
    : embedding_(embedding), bands_(embedding->bands()), options_(options) {
  auto head = std::make_shared<torch::nn::Module>();
  auto chooser = std::make_shared<torch::nn::Module>();
  const auto tails = static_cast<int64_t>(bands_.size()) - 1;
  class_projection_ = chooser->register_parameter("weight", torch::empty({tails, width}));
  head->register_module("class_proj", chooser);
  register_module("head", head);

  if (options.tie_projections) {
    reset_parameters();
    return;
  }
  torch::nn::ModuleList list;
  for (size_t band = 1; band < bands_.size(); ++band) {
    torch::nn::ModuleList tail;
    auto projection = std::make_shared<torch::nn::Module>();
    projections_.push_back(
        projection->register_parameter("weight", torch::empty({bands_[band].width, width})));
    tail->push_back(projection);
    list->push_back(tail);
  }
  register_module("tail", list);
  reset_parameters();
}

void AdaptiveSoftmaxImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  torch::nn::init::xavier_uniform_(class_projection_);
  for (Tensor& projection : projections_) torch::nn::init::xavier_uniform_(projection);
}

Tensor AdaptiveSoftmaxImpl::head_weight() const {
  return torch::cat({embedding_->embeddings[0], class_projection_});
}

Tensor AdaptiveSoftmaxImpl::reduce(const Tensor& x, size_t tail) {
  const Tensor projection =
      options_.tie_projections ? embedding_->projections[tail + 1].t() : projections_[tail];
  return ops::dropout(ops::linear(x, projection, {}), ops::draw_dropout(options_.dropout, is_training()));
}

Tensor AdaptiveSoftmaxImpl::losses(const Tensor& features, const Tensor& targets) {
  const Tensor x = ops::dropout(features, ops::draw_dropout(options_.dropout, is_training()));
  const int64_t frequent = bands_[0].end;
  Tensor choice = targets;  // in the head's vocabulary
  std::vector<Tensor> members;
  for (size_t i = 0; i + 1 < bands_.size(); ++i) {
    const Band& band = bands_[i + 1];
    const Tensor inside = (targets >= band.begin) & (targets < band.end);
    choice = choice.masked_fill(inside, frequent + static_cast<int64_t>(i));
    members.push_back(inside.nonzero().squeeze(1));
  }
  Tensor losses = ops::softmax_losses(x, head_weight(), choice);
  for (size_t i = 0; i < members.size(); ++i) {
    const Band& band = bands_[i + 1];
    Tensor at = members[i], inside = targets.index_select(0, at) - band.begin;
    if (options_.released_loss && is_training()) {
      const Tensor kept = (inside != kPad).nonzero().squeeze(1);
      at = at.index_select(0, kept);
      inside = inside.index_select(0, kept);
    }
    if (at.size(0) == 0) continue;
    losses = losses.index_add(
        0, at, ops::softmax_losses(reduce(x.index_select(0, at), i), embedding_->embeddings[i + 1], inside));
  }
  return losses;
}

Tensor AdaptiveSoftmaxImpl::log_probabilities(const Tensor& x) {
  const int64_t frequent = bands_[0].end;
  const Tensor head = torch::log_softmax(ops::linear(x, head_weight(), {}), 1);
  std::vector<Tensor> parts = {head.narrow(1, 0, frequent)};
  for (size_t i = 0; i + 1 < bands_.size(); ++i)
    parts.push_back(torch::log_softmax(ops::linear(reduce(x, i), embedding_->embeddings[i + 1], {}), 1) +
                    head.narrow(1, frequent + static_cast<int64_t>(i), 1));
  return torch::cat(parts, 1);
}

}  // namespace mega::nn
