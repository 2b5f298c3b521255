#include "mega/ops/softmax_loss.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/kernels/log_softmax.h"
#include "mega/ops/form.h"
#include "mega/ops/matmul.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Matrix dense(const Tensor& x, bool transposed = false) {
  return {x.data_ptr<float>(), x.size(1), transposed};
}

// Rows whose scores are held at once: a few megabytes, but enough for an efficient product.
int64_t block_rows(int64_t vocabulary) {
  constexpr int64_t kScores = 1 << 21, kFewest = 128;
  return std::max(kFewest, kScores / vocabulary);
}

// Calls body(scores (R, V), first row, R) for successive blocks of rows of x W^T.
template <class Body>
void for_each_block(const Tensor& x, const Tensor& weight, const Body& body) {
  const int64_t rows = x.size(0), vocabulary = weight.size(0), step = block_rows(vocabulary);
  const Tensor buffer = torch::empty({std::min(rows, step), vocabulary}, x.options());
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t count = std::min(step, rows - begin);
    const Tensor scores = buffer.narrow(0, 0, count);
    matmul(count, vocabulary, x.size(1), dense(x.narrow(0, begin, count)), dense(weight, true),
           scores.data_ptr<float>(), vocabulary);
    body(scores, begin, count);
  }
}

struct SoftmaxLosses : torch::autograd::Function<SoftmaxLosses> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& matrix,
                        const Tensor& targets, double smoothing) {
    const PhaseMark mark(Phase::loss);
    const Tensor x = input.contiguous(), weight = matrix.contiguous();
    const Tensor normalizer = torch::empty({x.size(0)}, x.options()), own = torch::empty_like(normalizer),
                 mean = torch::empty_like(normalizer);
    for_each_block(x, weight, [&](const Tensor& scores, int64_t begin, int64_t count) {
      const kernels::ConstRows rows{scores.data_ptr<float>(), scores.size(1)};
      parallel_rows(count, scores.size(1), [&](int64_t first, int64_t last) {
        kernels::softmax_sums(rows, normalizer.data_ptr<float>() + begin, mean.data_ptr<float>() + begin,
                              first, last, scores.size(1));
      });
      own.narrow(0, begin, count)
          .copy_(scores.gather(1, targets.narrow(0, begin, count).unsqueeze(1)).squeeze(1));
    });
    save(context, smoothing);
    context->save_for_backward({x, weight, targets, normalizer});
    return normalizer - (1.0 - smoothing) * own - smoothing * mean;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("the softmax loss");
    const PhaseMark mark(Phase::loss);
    const auto kept = context->get_saved_variables();
    const Tensor &x = kept[0], &weight = kept[1], &targets = kept[2], &normalizer = kept[3];
    const auto smoothing = saved<double>(context);
    const Tensor gradient = gradients[0].contiguous();
    const bool for_x = context->needs_input_grad(0), for_weight = context->needs_input_grad(1);
    const int64_t width = x.size(1), vocabulary = weight.size(0);
    const auto share = static_cast<float>(smoothing / static_cast<double>(vocabulary));
    Tensor dx = for_x ? torch::empty_like(x) : Tensor();
    Tensor dweight = for_weight ? torch::zeros_like(weight) : Tensor();
    for_each_block(x, weight, [&](const Tensor& scores, int64_t begin, int64_t count) {
      // d loss / d scores = (softmax - (1 - e) one_hot(target) - e / V) * gradient of the row.
      const kernels::Rows rows{scores.data_ptr<float>(), vocabulary};
      parallel_rows(count, vocabulary, [&](int64_t first, int64_t last) {
        kernels::softmax_gradient(rows, normalizer.data_ptr<float>() + begin,
                                  gradient.data_ptr<float>() + begin, share, first, last, vocabulary);
      });
      scores.scatter_add_(1, targets.narrow(0, begin, count).unsqueeze(1),
                          gradient.narrow(0, begin, count).unsqueeze(1) * (smoothing - 1.0));
      const Tensor part = x.narrow(0, begin, count);
      if (for_x)
        matmul(count, width, vocabulary, dense(scores), dense(weight),
               dx.narrow(0, begin, count).data_ptr<float>(), width);
      if (for_weight)
        matmul(vocabulary, width, count, dense(scores, true), dense(part), dweight.data_ptr<float>(), width,
               {.accumulate = true});
    });
    return {dx, dweight, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor softmax_losses(const Tensor& x, const Tensor& weight, const Tensor& targets, double smoothing) {
  require(x.dim() == 2 && weight.dim() == 2 && x.size(1) == weight.size(1) && targets.dim() == 1 &&
              targets.size(0) == x.size(0) && targets.scalar_type() == torch::kInt64,
          "softmax loss: expected x (M, D), weight (V, D) and int64 targets (M), got ", x.sizes(), ", ",
          weight.sizes(), " and ", targets.sizes());
  if (x.size(0) == 0) return x.sum(1);
  require(targets.min().item<int64_t>() >= 0 && targets.max().item<int64_t>() < weight.size(0),
          "softmax loss: a target is outside 0 to ", weight.size(0) - 1);
  require(smoothing >= 0.0 && smoothing <= 1.0, "softmax loss: a label smoothing of ", smoothing,
          " is no share of 1");
  if (use_fused(x)) return SoftmaxLosses::apply(x, weight, targets, smoothing);
  const Tensor losses = -torch::log_softmax(torch::mm(x, weight.t()), 1);
  const Tensor own = losses.gather(1, targets.unsqueeze(1)).squeeze(1);
  return smoothing > 0.0 ? (1.0 - smoothing) * own + smoothing * losses.mean(1) : own;
}

}  // namespace mega::ops
