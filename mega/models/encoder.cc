#include "mega/models/encoder.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/ops/dropout.h"

namespace mega::models {

using torch::Tensor;

EncoderImpl::EncoderImpl(const EncoderClassifierOptions& options) : options_(options) {
  const BlockOptions& block = options.block;
  if (options.input == InputKind::tokens) {
    // Held under the released name embed_tokens.embed.weight.
    auto holder = std::make_shared<torch::nn::Module>();
    auto inner = std::make_shared<torch::nn::Module>();
    weight_ = inner->register_parameter("weight", torch::empty({options.vocabulary, block.width}));
    holder->register_module("embed", inner);
    register_module("embed_tokens", holder);
  } else {
    auto holder = std::make_shared<torch::nn::Module>();
    // One channel has the released shape.
    weight_ = holder->register_parameter("weight", options.channels == 1
                                                       ? torch::empty({block.width})
                                                       : torch::empty({options.channels, block.width}));
    bias_ = holder->register_parameter("bias", torch::empty({block.width}));
    register_module("embed_tokens", holder);
  }
  if (options.normalize_embedding) {
    require(!block.prenorm, "normalize_embedding needs postnorm blocks: set block.prenorm = false");
    embed_norm_ = register_module("embed_norm", nn::SequenceNorm(block.width, block.norm, block.affine));
  }
  torch::nn::ModuleList layers;
  for (int64_t i = 0; i < options.layers; ++i) {
    blocks_.emplace_back(block);
    layers->push_back(blocks_.back());
  }
  register_module("layers", layers);
  if (block.prenorm)
    final_norm_ = register_module("final_norm", nn::SequenceNorm(block.width, block.norm, block.affine));
  reset_parameters();
}

void EncoderImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  if (options_.input == InputKind::tokens) {
    weight_.normal_(0.0, 1.0 / std::sqrt(static_cast<double>(options_.block.width)));
  } else {
    weight_.normal_(0.0, 1.0);
    bias_.normal_(0.0, 0.1);
  }
}

Tensor EncoderImpl::embed(const Tensor& values) {
  if (options_.input == InputKind::tokens) {
    require(values.scalar_type() == torch::kInt64, "tokens must be int64, not ", values.scalar_type());
    const int64_t least = values.min().item<int64_t>(), most = values.max().item<int64_t>();
    require(least >= 0 && most < options_.vocabulary, "token ", least < 0 ? least : most, " is outside 0 to ",
            options_.vocabulary - 1, ", the model's vocabulary");
    return torch::embedding(weight_, values);
  }
  require(values.scalar_type() == weight_.scalar_type(), "expected real numbers of type ",
          weight_.scalar_type(), ", got ", values.scalar_type());
  if (options_.channels > 1) return torch::matmul(values, weight_) + bias_;
  return values.unsqueeze(-1) * weight_ + bias_;
}

Tensor EncoderImpl::pool(const Tensor& x, const Tensor& lengths) const {
  if (options_.pooling == Pooling::cls) return x.select(1, 0);
  return x.sum(1) / lengths.unsqueeze(1).to(x.scalar_type());
}

Tensor EncoderImpl::forward(const Sequences& batch) {
  const Tensor& values = batch.values;
  const bool many = options_.channels > 1;
  require(values.defined() && values.dim() == (many ? 3 : 2) && values.numel() > 0 &&
              (!many || values.size(2) == options_.channels),
          "expected a batch of sequences (batch, length", many ? ", channels" : "", "), got ",
          values.defined() ? values.sizes() : c10::IntArrayRef());
  const int64_t count = values.size(0), length = values.size(1);
  const Tensor lengths =
      batch.lengths.defined() ? batch.lengths : torch::full({count}, length, torch::kInt64);
  require(lengths.scalar_type() == torch::kInt64, "lengths must be int64, not ", lengths.scalar_type());
  require(lengths.dim() == 1 && lengths.size(0) == count && lengths.min().item<int64_t>() > 0 &&
              lengths.max().item<int64_t>() <= length,
          "each of ", count, " lengths must lie between 1 and ", length);
  Tensor mask;  // (B, L), undefined when nothing is padded
  if (lengths.min().item<int64_t>() < length)
    mask = torch::arange(length, lengths.options()).unsqueeze(0) >= lengths.unsqueeze(1);
  const auto without_padding = [&](const Tensor& x) {
    return mask.defined() ? x.masked_fill(mask.unsqueeze(2), 0) : x;
  };

  Tensor x = embed(values);
  if (embed_norm_) x = embed_norm_->forward(x);
  x = without_padding(ops::dropout(x, ops::draw_dropout(options_.block.dropout, is_training())));
  for (auto& block : blocks_) x = block->forward(x, mask);
  if (final_norm_) x = final_norm_->forward(x);
  return pool(without_padding(x), lengths);
}

}  // namespace mega::models
