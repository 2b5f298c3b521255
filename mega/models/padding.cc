#include "mega/models/padding.h"

#include "mega/base/error.h"
#include "mega/nn/sequence_pieces.h"
#include "mega/nn/stack.h"

namespace mega::models {

using torch::Tensor;

Padding::Padding(const Sequences& batch, int64_t channels) {
  const Tensor& values = batch.values;
  const bool many = channels > 1;
  require(values.defined() && values.dim() == (many ? 3 : 2) && values.numel() > 0 &&
              (!many || values.size(2) == channels),
          "expected a batch of sequences (batch, length", many ? ", channels" : "", "), got ",
          values.defined() ? values.sizes() : c10::IntArrayRef());
  const int64_t count = values.size(0), length = values.size(1);
  lengths_ = batch.lengths.defined() ? batch.lengths : torch::full({count}, length, torch::kInt64);
  require(lengths_.scalar_type() == torch::kInt64, "lengths must be int64, not ", lengths_.scalar_type());
  // A sequence may end before a piece of it begins.
  const int64_t shortest = nn::sequence_pieces() == nullptr ? 1 : 0;
  require(lengths_.dim() == 1 && lengths_.size(0) == count && lengths_.min().item<int64_t>() >= shortest &&
              lengths_.max().item<int64_t>() <= length,
          "each of ", count, " lengths must lie between ", shortest, " and ", length);
  if (lengths_.min().item<int64_t>() < length)
    mask_ = torch::arange(length, lengths_.options()).unsqueeze(0) >= lengths_.unsqueeze(1);
}

Tensor Padding::pool(const Tensor& x, Pooling pooling) const {
  const nn::SequencePieces* const pieces = nn::sequence_pieces();
  if (pooling == Pooling::cls || pooling == Pooling::first) {
    const Tensor first = x.select(1, 0);
    return pieces == nullptr ? first : pieces->of_each(first)[0];
  }
  if (pooling == Pooling::last) {
    require(pieces == nullptr, "pooling = last needs a whole sequence");
    return x.gather(1, (lengths_ - 1).view({-1, 1, 1}).expand({-1, 1, x.size(2)})).squeeze(1);
  }
  Tensor sum = nn::zero_padding(x, mask_).sum(1), lengths = lengths_.unsqueeze(1).to(x.scalar_type());
  if (pieces != nullptr) {
    sum = pieces->of_each(sum).sum(0);
    lengths = pieces->of_each(lengths).sum(0);
  }
  return sum / lengths;
}

}  // namespace mega::models
