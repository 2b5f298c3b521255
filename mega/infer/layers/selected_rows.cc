#include "mega/infer/layers/selected_rows.h"

#include <cstring>

namespace mega::infer {
namespace {

size_t bytes_of(kernels::WeightType type) {
  switch (type) {
    case kernels::WeightType::f32:
      return 4;
    case kernels::WeightType::bf16:
      return 2;
    case kernels::WeightType::i8:
      return 1;
  }
  return 0;
}

}  // namespace

SelectedRows::SelectedRows(const kernels::Weights& all, std::span<const int32_t> rows) {
  const size_t row_bytes = static_cast<size_t>(all.depth) * bytes_of(all.type);
  data_.resize(rows.size() * row_bytes);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<size_t>(rows[i]);
    std::memcpy(data_.data() + i * row_bytes, static_cast<const std::byte*>(all.data) + row * row_bytes,
                row_bytes);
    if (all.type != kernels::WeightType::i8) continue;
    scales_.push_back(all.scales[row]);
    sums_.push_back(all.sums[row]);
  }
  linear_ =
      Linear({all.type, data_.data(), std::ssize(rows), all.depth, scales_.data(), sums_.data(), all.rounds});
}

}  // namespace mega::infer
