#include "mega/nn/adaptive_embedding.h"

#include <cmath>

#include "mega/ops/linear.h"
#include "mega/text/tokens.h"

namespace mega::nn {

using torch::Tensor;

AdaptiveEmbeddingImpl::AdaptiveEmbeddingImpl(const std::vector<Band>& bands, int64_t width)
    : bands_(bands), width_(width) {
  torch::nn::ModuleList list;
  const auto holder = [](const Tensor& weight) {
    auto module = std::make_shared<torch::nn::Module>();
    module->register_parameter("weight", weight);
    return module;
  };
  for (const Band& band : bands_) {
    embeddings.push_back(torch::empty({band.size(), band.width}).requires_grad_());
    projections.push_back(torch::empty({width, band.width}).requires_grad_());
    torch::nn::ModuleList pair;
    pair->push_back(holder(embeddings.back()));
    pair->push_back(holder(projections.back()));
    list->push_back(pair);
  }
  register_module("embeddings", list);
  reset_parameters();
}

void AdaptiveEmbeddingImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  for (size_t i = 0; i < bands_.size(); ++i) {
    embeddings[i].normal_(0.0, 1.0 / std::sqrt(static_cast<double>(bands_[i].width)));
    torch::nn::init::xavier_uniform_(projections[i]);
  }
  if (bands_[0].size() > kPad) embeddings[0][kPad].zero_();
}

Tensor AdaptiveEmbeddingImpl::forward(const Tensor& tokens) {
  const Tensor flat = tokens.reshape(-1);
  Tensor result = torch::zeros({flat.size(0), width_}, embeddings.front().options().requires_grad(false));
  for (size_t i = 0; i < bands_.size(); ++i) {
    const Tensor at = ((flat >= bands_[i].begin) & (flat < bands_[i].end)).nonzero().squeeze(1);
    if (at.size(0) == 0) continue;
    // The padding embedding gets no gradient from lookups, as released.
    const int64_t padding = i == 0 && bands_[0].size() > kPad ? kPad : -1;
    const Tensor rows = torch::embedding(embeddings[i], flat.index_select(0, at) - bands_[i].begin, padding);
    result = result.index_copy(0, at, ops::linear(rows, projections[i], {}));
  }
  auto sizes = tokens.sizes().vec();
  sizes.push_back(width_);
  return result.view(sizes);
}

}  // namespace mega::nn
