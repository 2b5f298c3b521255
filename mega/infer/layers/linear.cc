#include "mega/infer/layers/linear.h"

#include <algorithm>
#include <vector>

#include "mega/kernels/add.h"

namespace mega::infer {
namespace {

using kernels::Activations;
using kernels::Weights;
using kernels::WeightType;

// Rows of weights per block: what a kernel holds in registers, or twice that.
constexpr int64_t kRowBlock = 16;

int64_t blocks_of(const Product& product) {
  return (product.linear.weights.rows + kRowBlock - 1) / kRowBlock;
}

}  // namespace

Linear::Linear(WeightFile& file, const std::string& name, int64_t outputs, int64_t inputs)
    : weights(file.matrix(name + ".weight", outputs, inputs)),
      bias(file.numbers(name + ".bias", outputs).data()) {}

void multiply(std::span<const Product> products, int64_t rows, const Run& run) {
  // For I8 weights, activations are quantised, too.
  int64_t numbers = 0, blocks = 0, weights = 0;
  for (const Product& product : products) {
    if (product.linear.weights.type == WeightType::i8) numbers += rows * product.linear.weights.depth;
    blocks += blocks_of(product);
    weights += product.linear.weights.rows * product.linear.weights.depth;
  }
  auto* quantized = reinterpret_cast<int8_t*>(run.work.floats(Workspace::kQuantized, (numbers + 3) / 4));
  float* scales =
      run.work.floats(Workspace::kScales, numbers > 0 ? rows * static_cast<int64_t>(products.size()) : 0);
  std::vector<Activations> activations;
  for (const Product& product : products) {
    activations.push_back({product.x, nullptr, nullptr});
    if (product.linear.weights.type != WeightType::i8) continue;
    const int64_t depth = product.linear.weights.depth;
    run.rows(rows, depth, [&](int64_t begin, int64_t end) {
      kernels::quantize_rows(product.x, quantized, scales, begin, end, depth);
    });
    activations.back().quantized = quantized;
    activations.back().scales = scales;
    quantized += rows * depth;
    scales += rows;
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
        kernels::dot_rows(product.linear.weights, first, last, activations[i], 0, rows, product.y);
        if (product.linear.bias != nullptr) {
          const kernels::Rows part{product.y.data + first, product.y.stride};
          kernels::add({part.data, part.stride}, {product.linear.bias + first, 0}, part, 0, rows,
                       last - first);
        }
      }
      begin = std::max<int64_t>(0, begin - count);
      end -= count;
    }
  });
}

}  // namespace mega::infer
