#include "mega/baselines/linear.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/models/padding.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

// An odd number whose bits look random: the golden ratio, as in Fibonacci hashing.
constexpr auto kMix = static_cast<int64_t>(0x9E3779B97F4A7C15U);
constexpr int kHighBits = 24;  // of the product, which depend on all bits of the factor

// The bucket of each n-gram (B, L), where an n-gram is the sum of its tokens' numbers times powers of kMix.
Tensor buckets_of(const Tensor& ngrams, int64_t buckets) {
  return torch::remainder(torch::bitwise_right_shift(ngrams * kMix, kHighBits), buckets);
}

}  // namespace

LinearImpl::LinearImpl(const LinearOptions& options) : options_(options) {
  weight_ = register_parameter("weight", torch::zeros({options.buckets, options.classes}));
  bias_ = register_parameter("bias", torch::zeros({options.classes}));
}

Tensor LinearImpl::predict(const std::vector<models::Sequences>& documents) {
  require(std::ssize(documents) == options_.documents, "this model reads ", options_.documents,
          " documents, not ", documents.size());
  Tensor sum, count;
  for (size_t document = 0; document < documents.size(); ++document) {
    const Tensor& tokens = documents[document].values;  // (B, L)
    const Tensor mask = models::Padding(documents[document], /*channels=*/1).mask();
    const Tensor real = mask.defined() ? mask.logical_not() : torch::ones_like(tokens, torch::kBool);
    const int64_t length = tokens.size(1);
    Tensor ngrams = torch::full_like(tokens, static_cast<int64_t>(document));
    for (int64_t n = 1; n <= std::min(options_.ngrams, length); ++n) {
      // Those that begin at 0 .. length - n.
      ngrams = ngrams.narrow(1, 0, length - n + 1) * kMix + tokens.narrow(1, n - 1, length - n + 1) + n;
      const Tensor whole = real.narrow(1, n - 1, length - n + 1).to(torch::kFloat32);
      const Tensor bag = std::get<0>(torch::embedding_bag(
          weight_, buckets_of(ngrams, options_.buckets).flatten(),
          torch::arange(0, ngrams.numel(), ngrams.size(1), torch::kInt64), /*scale_grad_by_freq=*/false,
          /*mode=*/0, /*sparse=*/false, whole.flatten()));
      sum = sum.defined() ? sum + bag : bag;
      count = count.defined() ? count + whole.sum(1) : whole.sum(1);
    }
  }
  return sum / count.clamp_min(1.0).sqrt().unsqueeze(1) + bias_;
}

}  // namespace mega::baselines
