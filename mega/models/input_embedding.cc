#include "mega/models/input_embedding.h"

#include "mega/base/error.h"

namespace mega::models {

using torch::Tensor;

InputEmbeddingImpl::InputEmbeddingImpl(const SequenceOptions& options, int64_t width, double token_deviation)
    : input_(options.input),
      channels_(options.channels),
      vocabulary_(options.vocabulary),
      token_deviation_(token_deviation) {
  if (input_ == InputKind::tokens) {
    weight_ = register_parameter("weight", torch::empty({vocabulary_, width}));
  } else {
    // A single channel has the released shape.
    weight_ = register_parameter("weight",
                                 channels_ == 1 ? torch::empty({width}) : torch::empty({channels_, width}));
    bias_ = register_parameter("bias", torch::empty({width}));
  }
  reset_parameters();
}

void InputEmbeddingImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  if (input_ == InputKind::tokens) {
    weight_.normal_(0.0, token_deviation_);
  } else {
    weight_.normal_(0.0, 1.0);
    bias_.normal_(0.0, 0.1);
  }
}

Tensor InputEmbeddingImpl::forward(const Tensor& values) {
  if (input_ == InputKind::tokens) {
    require(values.scalar_type() == torch::kInt64, "tokens must be int64, not ", values.scalar_type());
    const int64_t least = values.min().item<int64_t>(), most = values.max().item<int64_t>();
    require(least >= 0 && most < vocabulary_, "token ", least < 0 ? least : most, " is outside 0 to ",
            vocabulary_ - 1, ", the model's vocabulary");
    return torch::embedding(weight_, values);
  }
  require(values.scalar_type() == weight_.scalar_type(), "expected real numbers of type ",
          weight_.scalar_type(), ", got ", values.scalar_type());
  if (channels_ > 1) return torch::matmul(values, weight_) + bias_;
  return values.unsqueeze(-1) * weight_ + bias_;
}

}  // namespace mega::models
