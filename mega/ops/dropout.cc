#include "mega/ops/dropout.h"

#include <ATen/CPUGeneratorImpl.h>

#include "mega/base/error.h"
#include "mega/ops/activation.h"
#include "mega/ops/parallel.h"

namespace mega::ops {

using torch::Tensor;

Dropout draw_dropout(double rate, bool training) {
  require(rate >= 0.0 && rate <= 1.0, "a dropout rate must be between 0 and 1, not ", rate);
  if (!training || rate == 0.0) return {};
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return {static_cast<float>(rate), at::check_generator<at::CPUGeneratorImpl>(generator)->random64()};
}

Tensor dropout_mask(const Dropout& dropout, int64_t rows, int64_t columns,
                    const torch::TensorOptions& options) {
  Tensor mask = torch::empty({rows, columns}, torch::kFloat32);
  float* data = mask.data_ptr<float>();
  parallel_rows(rows, columns, [&](int64_t begin, int64_t end) {
    kernels::dropout_mask_rows(dropout, data, begin, end, columns);
  });
  return mask.to(options);
}

Tensor dropout(const Tensor& x, const Dropout& dropout) {
  return dropout.active() ? activate(x, Activation::identity, dropout) : x;
}

Tensor feature_dropout(const Tensor& x, const Dropout& dropout) {
  if (!dropout.active()) return x;
  return x * dropout_mask(dropout, x.size(0), x.size(2), x.options()).unsqueeze(1);
}

}  // namespace mega::ops
