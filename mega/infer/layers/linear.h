// y = x W^T + b.
#pragma once

#include <span>
#include <string>

#include "mega/infer/weight_file.h"
#include "mega/infer/workspace.h"
#include "mega/kernels/dot.h"

namespace mega::infer {

struct Linear {
  kernels::Weights weights;
  const float* bias = nullptr;  // (rows). May be null.

  Linear() = default;
  explicit Linear(const kernels::Weights& matrix) : weights(matrix) {}
  // Reads NAME.weight and NAME.bias of the file.
  Linear(WeightFile& file, const std::string& name, int64_t outputs, int64_t inputs);
};

struct Product {
  const Linear& linear;
  kernels::ConstRows x;
  kernels::Rows y;
};

// Computes several products for `rows` rows of activations in one parallel region: threads synchronise once,
// not once per product.
void multiply(std::span<const Product> products, int64_t rows, const Run& run);

inline void multiply(const Linear& linear, kernels::ConstRows x, kernels::Rows y, int64_t rows,
                     const Run& run) {
  const Product product{linear, x, y};
  multiply({&product, 1}, rows, run);
}

}  // namespace mega::infer
