#include "mega/infer/layers/linear.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mega::infer {
namespace {

using kernels::Activations;
using kernels::Weights;
using kernels::WeightType;

// Rows of weights per block: what a kernel packs together, or holds in registers.
constexpr int64_t kRowBlock = 32;

int64_t blocks_of(const Product& product) {
  return (product.linear.weights.rows + kRowBlock - 1) / kRowBlock;
}

// Memory for what products read of `rows` rows of activations, after rounding.
struct Narrow {
  int8_t* quantized = nullptr;
  float* scales = nullptr;
  int32_t* sums = nullptr;
  uint16_t* rounded = nullptr;
};

// Activations as the weights want them: quantised for I8, in bf16 where products round to that, else as they
// are.
std::vector<Activations> narrowed(std::span<const Product> products, int64_t rows, const Run& run) {
  std::vector<Narrow> memory(products.size());
  int64_t columns = 0, bytes = 0, scaled = 0;
  constexpr int64_t kAlignment = 4;
  for (const Product& product : products) {
    const Weights& weights = product.linear.weights;
    const bool quantizes = weights.type == WeightType::i8;
    if (!quantizes && !kernels::reads_rounded(weights)) continue;
    columns += weights.depth;
    scaled += quantizes ? rows : 0;
    bytes += (rows * weights.depth * (quantizes ? 1 : 2) + kAlignment - 1) / kAlignment * kAlignment;
  }
  auto* data = reinterpret_cast<std::byte*>(run.work.floats(Workspace::kNarrow, bytes / kAlignment));
  float* scales = run.work.floats(Workspace::kScales, 2 * scaled);
  auto* sums = reinterpret_cast<int32_t*>(scales + scaled);
  std::vector<Activations> activations;
  for (size_t i = 0; i < products.size(); ++i) {
    const Weights& weights = products[i].linear.weights;
    Narrow& own = memory[i];
    int64_t size = 0;
    if (weights.type == WeightType::i8) {
      own = {reinterpret_cast<int8_t*>(data), scales, sums, nullptr};
      scales += rows;
      sums += rows;
      size = rows * weights.depth;
    } else if (kernels::reads_rounded(weights)) {
      own.rounded = reinterpret_cast<uint16_t*>(data);
      size = 2 * rows * weights.depth;
    }
    data += (size + kAlignment - 1) / kAlignment * kAlignment;
    activations.push_back({products[i].x, own.quantized, own.scales, own.sums, own.rounded});
  }
  if (columns == 0) return activations;
  run.rows(rows, columns, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < products.size(); ++i) {
      const int64_t depth = products[i].linear.weights.depth;
      const Narrow& own = memory[i];
      if (own.quantized != nullptr) {
        kernels::quantize_rows(products[i].x, own.quantized, own.scales, begin, end, depth);
        kernels::row_sums(own.quantized, depth, own.sums, begin, end);
      }
      if (own.rounded != nullptr)
        for (int64_t row = begin; row < end; ++row)
          kernels::to_bf16(products[i].x[row], own.rounded + row * depth, depth);
    }
  });
  return activations;
}

}  // namespace

Linear::Linear(WeightFile& file, const std::string& name, int64_t outputs, int64_t inputs)
    : weights(file.matrix(name + ".weight", outputs, inputs)),
      bias(file.numbers(name + ".bias", outputs).data()) {}

void multiply(std::span<const Product> products, int64_t rows, const Run& run) {
  const std::vector<Activations> activations = narrowed(products, rows, run);
  int64_t blocks = 0, weights = 0;
  for (const Product& product : products) {
    blocks += blocks_of(product);
    weights += product.linear.weights.rows * product.linear.weights.depth;
  }
  constexpr int64_t kWorthwhile = 1 << 16;  // multiply-adds
  const int64_t grain = kWorthwhile * blocks / std::max<int64_t>(1, weights * rows) + 1;
  run.pool.run(blocks, grain, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < products.size() && begin < end; ++i) {
      const Product& product = products[i];
      const int64_t count = blocks_of(product);
      if (begin < count) {
        const int64_t first = begin * kRowBlock;
        const int64_t last = std::min(product.linear.weights.rows, std::min(end, count) * kRowBlock);
        kernels::dot_rows(product.linear.weights, first, last, activations[i], 0, rows, product.y,
                          product.linear.bias);
      }
      begin = std::max<int64_t>(0, begin - count);
      end -= count;
    }
  });
}

}  // namespace mega::infer
