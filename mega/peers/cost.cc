#include "mega/peers/cost.h"

#include <algorithm>

namespace mega::peers {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

}  // namespace

double multiply_adds(const TransformerOptions& options, int64_t length) {
  const double d = real(options.width), f = real(options.hidden);
  const double projections = 4 * d * d, scores_and_values = 2 * d * real(length), feed_forward = 2 * d * f;
  return real(options.layers) * (projections + scores_and_values + feed_forward);
}

double activation_bytes(const TransformerOptions& options, int64_t length, int64_t batch) {
  const double d = real(options.width), f = real(options.hidden), h = real(options.heads);
  // Kept by a layer for its backward pass, per token: its input; queries, keys and values; the attention's
  // output with split and with joined heads, and a normalizer for each head; the input of each norm with its
  // two statistics, and the output of the first; the hidden layer before its activation.
  const double kept = d + 3 * d + 2 * d + h + 2 * (d + 2) + d + f;
  const double embedding = options.normalize_embedding ? d + 2 : 0.0;
  // Alive for a moment in the backward pass of the last layer, beyond what it has freed by then: in the
  // feed-forward, the activated hidden layer or its gradient, twice; in the attention, gradients of queries,
  // keys and values.
  const double moment = std::max(2 * f + d, 2 * d);
  const double all_layers = real(options.documents) * (real(options.layers) * kept + embedding);
  return 4.0 * real(length) * real(batch) * (all_layers + moment);
}

}  // namespace mega::peers
