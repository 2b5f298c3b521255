#include "mega/ops/long_convolution.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "mega/base/error.h"
#include "mega/kernels/fft.h"
#include "mega/ops/form.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using kernels::kFftLanes;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using torch::indexing::Slice;

Tensor reference(const Tensor& x, const Tensor& past, const Tensor& future, const Tensor& mask) {
  const int64_t length = x.size(1);
  const Tensor seen = mask.defined() ? x.masked_fill(mask.unsqueeze(-1), 0.0) : x;
  // At this size the circular convolution equals the linear one at the positions we read; the future's lags
  // wrap around to the end.
  const int64_t size = fast_length(length + past.size(1));
  Tensor spectrum = torch::fft::rfft(past, size);
  if (future.defined())
    spectrum = spectrum + torch::conj(torch::fft::rfft(torch::constant_pad_nd(future, {1, 0}), size));
  const Tensor product = torch::fft::rfft(seen.transpose(1, 2), size) * spectrum;
  return torch::fft::irfft(product, size)
      .index({torch::indexing::Ellipsis, Slice(0, length)})
      .transpose(1, 2);
}

// The roots of a size are computed once.
const float* roots_of(int64_t size) {
  static std::mutex mutex;
  static std::map<int64_t, std::unique_ptr<std::vector<float>>> tables;
  const std::lock_guard lock(mutex);
  auto& table = tables[size];
  if (table == nullptr) {
    table = std::make_unique<std::vector<float>>(static_cast<size_t>(2 * size));
    kernels::fft_roots(size, table->data());
  }
  return table->data();
}

// The work: groups of channels, and for each the pairs of sequences that one complex transform serves. With
// more threads than groups the pairs are divided, too; each part then transforms the kernels for itself.
struct ConvolutionPlan {
  int64_t batch, length, width, lags, size, groups, pairs, parts;
  const float* roots;

  ConvolutionPlan(const Tensor& x, const Tensor& past)
      : batch(x.size(0)),
        length(x.size(1)),
        width(x.size(2)),
        lags(past.size(1)),
        size(kernels::fft_size(length + lags)),
        groups(kernels::fft_groups(width)),
        pairs((batch + 1) / 2),
        parts(std::min<int64_t>(pairs, (at::get_num_threads() + groups - 1) / groups)),
        roots(roots_of(size)) {}

  int64_t lanes(int64_t group) const { return std::min(kFftLanes, width - group * kFftLanes); }

  // Calls body(group, part, buffers) on all threads: some for each thread, for one transform each.
  template <class Body>
  void each(int64_t count, const Body& body) const {
    parallel_for(0, groups * parts, 1, [&](int64_t begin, int64_t end) {
      const Tensor memory = torch::empty({count, kernels::fft_floats(size)});
      std::vector<float*> buffers;
      for (int64_t i = 0; i < count; ++i) buffers.push_back(memory.data_ptr<float>() + i * memory.stride(0));
      for (int64_t item = begin; item < end; ++item) body(item / parts, item % parts, buffers);
    });
  }
  // Calls body(first row) for the pairs of a part.
  template <class Body>
  void each_pair(int64_t part, const Body& body) const {
    for (int64_t pair = part * pairs / parts; pair < (part + 1) * pairs / parts; ++pair) body(2 * pair);
  }

  // Rows of a group of channels in x (B, L, D); none after the last.
  kernels::FftRows rows(const Tensor& x, const Tensor& mask, int64_t row, int64_t group) const {
    if (row >= batch) return {};
    return {x.data_ptr<float>() + row * length * width + group * kFftLanes, width, padding(mask, row)};
  }
  kernels::FftTarget target(const Tensor& y, const Tensor& mask, int64_t row, int64_t group) const {
    if (row >= batch) return {};
    return {y.data_ptr<float>() + row * length * width + group * kFftLanes, width, padding(mask, row)};
  }
  const uint8_t* padding(const Tensor& mask, int64_t row) const {
    return mask.defined() ? reinterpret_cast<const uint8_t*>(mask.data_ptr<bool>()) + row * length : nullptr;
  }

  // Transforms two sequences.
  void load(const Tensor& x, const Tensor& mask, int64_t row, int64_t group, float* data) const {
    kernels::fft_load(rows(x, mask, row, group), rows(x, mask, row + 1, group), length, lanes(group), size,
                      data);
    kernels::fft_forward(roots, size, data);
  }
  // The inverse, of two sequences.
  void store(float* data, const Tensor& y, const Tensor& mask, int64_t row, int64_t group) const {
    kernels::fft_inverse(roots, size, data);
    kernels::fft_store(data, 1.0f / static_cast<float>(size), length, lanes(group),
                       target(y, mask, row, group), target(y, mask, row + 1, group));
  }

  // The spectrum of a group's kernels, past and future (T, D): lag -1-l is element size-1-l.
  void load_kernel(const Tensor& past, const Tensor& future, int64_t group, float* data) const {
    const auto rows_of = [&](const Tensor& kernel) {
      return kernels::FftRows{kernel.data_ptr<float>() + group * kFftLanes, width, nullptr};
    };
    kernels::fft_load(rows_of(past), {}, lags, lanes(group), size, data);
    for (int64_t l = 0; future.defined() && l < lags; ++l) {
      const kernels::FftRows from = rows_of(future);
      std::copy_n(from.data + l * width, lanes(group), data + kernels::fft_floats(size - 1 - l));
    }
    kernels::fft_forward(roots, size, data);
  }
  // The way back, of a gradient: (T, D) each.
  void store_kernel(float* data, int64_t group, float* past, float* future) const {
    kernels::fft_inverse(roots, size, data);
    const float scale = 1.0f / static_cast<float>(size);
    kernels::fft_store(data, scale, lags, lanes(group), {past + group * kFftLanes, width, nullptr}, {});
    for (int64_t l = 0; future != nullptr && l < lags; ++l)
      kernels::fft_store(data + kernels::fft_floats(size - 1 - l), scale, 1, lanes(group),
                         {future + l * width + group * kFftLanes, width, nullptr}, {});
  }
};

class LongConvolution : public torch::autograd::Function<LongConvolution> {
 public:
  // past and future (T, D).
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& past,
                        const MaybeTensor& future, const MaybeTensor& mask) {
    const Tensor ahead = tensor_of(future), padding = tensor_of(mask);
    const ConvolutionPlan plan(x, past.t());
    const Tensor y = torch::empty_like(x);
    plan.each(2, [&](int64_t group, int64_t part, const std::vector<float*>& buffers) {
      float *const kernel = buffers[0], *const data = buffers[1];
      plan.load_kernel(past, ahead, group, kernel);
      plan.each_pair(part, [&](int64_t row) {
        plan.load(x, padding, row, group, data);
        kernels::fft_multiply(kernel, plan.size, data);
        plan.store(data, y, {}, row, group);
      });
    });
    context->save_for_backward({x, past, ahead, padding});
    return y;
  }

  // dx is the correlation of dy with the kernels, dK that of dy with x, summed over the batch: of a pair of
  // sequences, the real part of one complex correlation is the sum of both.
  static variable_list backward(AutogradContext* context, variable_list grads) {
    require_first_derivative("the long convolution");
    const variable_list kept = context->get_saved_variables();
    const Tensor &x = kept[0], &past = kept[1], &ahead = kept[2], &mask = kept[3];
    const bool needs_x = context->needs_input_grad(0);
    const bool needs_kernel =
        context->needs_input_grad(1) || (ahead.defined() && context->needs_input_grad(2));
    const Tensor dy = grads[0].contiguous();
    const ConvolutionPlan plan(x, past.t());
    const Tensor dx = needs_x ? torch::empty_like(x) : Tensor();
    Tensor dpast, dahead;
    if (needs_kernel) {
      dpast = torch::empty({plan.parts, plan.lags, plan.width}, x.options());
      if (ahead.defined()) dahead = torch::empty_like(dpast);
    }
    const auto part_of = [](const Tensor& t, int64_t part) {
      return t.defined() ? t.data_ptr<float>() + part * t.stride(0) : nullptr;
    };
    plan.each(4, [&](int64_t group, int64_t part, const std::vector<float*>& buffers) {
      float *const kernel = buffers[0], *const data = buffers[1], *const source = buffers[2],
                   *const sum = buffers[3];
      if (needs_x) plan.load_kernel(past, ahead, group, kernel);
      if (needs_kernel) std::fill_n(sum, kernels::fft_floats(plan.size), 0.0f);
      plan.each_pair(part, [&](int64_t row) {
        plan.load(dy, {}, row, group, data);
        if (needs_kernel) {
          plan.load(x, mask, row, group, source);
          kernels::fft_add_correlation(data, source, plan.size, sum);
        }
        if (!needs_x) return;
        kernels::fft_multiply_conjugate(kernel, plan.size, data);
        plan.store(data, dx, mask, row, group);
      });
      if (needs_kernel) plan.store_kernel(sum, group, part_of(dpast, part), part_of(dahead, part));
    });
    return {dx, dpast.defined() ? dpast.sum(0) : Tensor(), dahead.defined() ? dahead.sum(0) : Tensor(),
            Tensor()};
  }
};

void check(const Tensor& x, const Tensor& past, const Tensor& future, const Tensor& mask) {
  require(x.dim() == 3 && x.numel() > 0 && x.is_floating_point(),
          "a long convolution takes (batch, length, width) of floating point, not ", x.sizes(), " of ",
          x.scalar_type());
  for (const Tensor& kernel : {past, future}) {
    if (!kernel.defined()) continue;
    require(kernel.dim() == 2 && kernel.size(0) == x.size(2) && kernel.size(1) >= 1 &&
                kernel.size(1) <= x.size(1) && kernel.size(1) == past.size(1) &&
                kernel.scalar_type() == x.scalar_type(),
            "the kernels of a long convolution of ", x.sizes(), " must be (", x.size(2),
            ", lags) with the same number of lags, at most ", x.size(1), ", not ", kernel.sizes(), " of ",
            kernel.scalar_type());
  }
  require(!mask.defined() || (mask.dim() == 2 && mask.size(0) == x.size(0) && mask.size(1) == x.size(1) &&
                              mask.scalar_type() == torch::kBool),
          "the mask of a long convolution must be (", x.size(0), ", ", x.size(1),
          ") of Bool, true = padding");
}

}  // namespace

int64_t fast_length(int64_t least) {
  for (int64_t length = least;; ++length) {
    int64_t rest = length;
    for (int64_t prime : {2, 3, 5})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1) return length;
  }
}

Tensor long_convolution(const Tensor& x, const Tensor& past, const Tensor& future, const Tensor& mask) {
  check(x, past, future, mask);
  if (!use_fused(x)) return reference(x, past, future, mask);
  const auto by_time = [](const Tensor& kernel) {
    return kernel.defined() ? maybe(kernel.t().contiguous()) : c10::nullopt;
  };
  return LongConvolution::apply(x.contiguous(), past.t().contiguous(), by_time(future),
                                mask.defined() ? maybe(mask.contiguous()) : c10::nullopt);
}

}  // namespace mega::ops
