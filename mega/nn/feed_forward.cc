#include "mega/nn/feed_forward.h"

#include "mega/base/error.h"
#include "mega/ops/activation.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/feed_forward.h"
#include "mega/ops/linear.h"

namespace mega::nn {

using torch::Tensor;

FeedForwardImpl::FeedForwardImpl(const BlockOptions& options) : options_(options) {
  require(options.hidden > 0, "a feed-forward needs a hidden width above 0, not ", options.hidden);
  norm = register_module("norm", SequenceNorm(options.width, plain_norm(options.norm), options.affine));
  fc1 = register_module("fc1", torch::nn::Linear(options.width, options.hidden));
  fc2 = register_module("fc2", torch::nn::Linear(options.hidden, options.width));
  drop_path = register_module("drop_path", DropPath(options.drop_path));
  reset_parameters();
}

void FeedForwardImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  for (auto& linear : {fc1, fc2}) {
    linear->weight.normal_(0.0, 0.02);
    linear->bias.zero_();
  }
}

void FeedForwardImpl::pretty_print(std::ostream& stream) const {
  stream << "FeedForward(D=" << options_.width << ", F=" << options_.hidden << ", "
         << to_string(options_.activation) << ")";
}

// The second line of equation 21.
Tensor FeedForwardImpl::forward(const Tensor& x) {
  ops::check_sequence("feed-forward", x, options_.width, fc1->weight);
  const Tensor input = options_.prenorm ? norm->forward(x) : x;
  const auto hidden = ops::draw_dropout(options_.activation_dropout, is_training());
  const auto output = ops::draw_dropout(options_.dropout, is_training());
  Tensor change;
  if (options_.feature_dropout) {
    const Tensor inner = ops::linear(input, fc1->weight, fc1->bias);
    const Tensor active = ops::feature_dropout(ops::activate(inner, options_.activation), hidden);
    change = ops::feature_dropout(ops::linear(active, fc2->weight, fc2->bias), output);
  } else {
    change = ops::dropout(
        ops::feed_forward(input, fc1->weight, fc1->bias, options_.activation, hidden, fc2->weight, fc2->bias),
        output);
  }
  const Tensor y = drop_path->add(x, change);
  return options_.prenorm ? y : norm->forward(y);
}

}  // namespace mega::nn
