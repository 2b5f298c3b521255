#include "mega/nn/adaptive_embedding.h"

#include <cmath>

#include "mega/config/tokens.h"
#include "mega/ops/linear.h"

namespace mega::nn {

using torch::Tensor;

AdaptiveEmbeddingImpl::AdaptiveEmbeddingImpl(const std::vector<Band>& bands, int64_t width, bool released)
    : bands_(bands), width_(width), released_(released) {
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

// The token of a band, counted from its first, whose embedding does not learn from being looked up; -1: none.
int64_t AdaptiveEmbeddingImpl::padding_of(size_t band) const {
  return (band == 0 || released_) && bands_[band].size() > kPad ? kPad : -1;
}

void AdaptiveEmbeddingImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  for (size_t i = 0; i < bands_.size(); ++i) {
    embeddings[i].normal_(0.0, 1.0 / std::sqrt(static_cast<double>(bands_[i].width)));
    if (padding_of(i) >= 0) embeddings[i][padding_of(i)].zero_();
    torch::nn::init::xavier_uniform_(projections[i]);
  }
}

Tensor AdaptiveEmbeddingImpl::forward(const Tensor& tokens) {
  const Tensor flat = tokens.reshape(-1);
  Tensor result = torch::zeros({flat.size(0), width_}, embeddings.front().options().requires_grad(false));
  for (size_t i = 0; i < bands_.size(); ++i) {
    const Tensor at = ((flat >= bands_[i].begin) & (flat < bands_[i].end)).nonzero().squeeze(1);
    if (at.size(0) == 0) continue;
    const Tensor rows =
        torch::embedding(embeddings[i], flat.index_select(0, at) - bands_[i].begin, padding_of(i));
    result = result.index_copy(0, at, ops::linear(rows, projections[i], {}));
  }
  auto sizes = tokens.sizes().vec();
  sizes.push_back(width_);
  return result.view(sizes);
}

}  // namespace mega::nn
