#include "mega/baselines/cost.h"

#include <algorithm>

#include "mega/models/cost.h"

namespace mega::baselines {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

// Per token of a layer whose queries see so many keys on average.
double layer_multiply_adds(int64_t width, int64_t hidden, double seen) {
  const double d = real(width), f = real(hidden);
  const double projections = 4 * d * d, scores_and_values = 2 * d * seen, feed_forward = 2 * d * f;
  return projections + scores_and_values + feed_forward;
}

// Numbers that a layer keeps for its backward pass, per token.
double kept_by_layer(int64_t width, int64_t hidden, int64_t heads) {
  const double d = real(width), f = real(hidden), h = real(heads);
  // Its input; queries, keys and values; the attention's output, and a normalizer for each head; the input of
  // each norm with its two statistics, and the output of one (postnorm) or of both in place of the layer's
  // input (prenorm, where that is the input of a norm); the hidden layer before its activation.
  return d + 3 * d + d + h + 2 * (d + 2) + d + f;
}

// Numbers alive for a moment in the backward pass of the last layer, beyond what it has freed by then, per
// token: in the feed-forward, the activated hidden layer or its gradient, twice; in the attention, gradients
// of queries, keys and values.
double moment_of_layer(int64_t width, int64_t hidden) {
  const double d = real(width), f = real(hidden);
  return std::max(2 * f + d, 2 * d);
}

}  // namespace

double multiply_adds(const TransformerOptions& options, int64_t length) {
  return real(options.layers) * layer_multiply_adds(options.width, options.hidden, real(length));
}

double multiply_adds(const TransformerLanguageOptions& options, int64_t length) {
  const double seen = (real(length) + 1.0) / 2.0;
  return real(options.layers) * layer_multiply_adds(options.width, options.hidden, seen) +
         models::output_multiply_adds(options, options.width);
}

double activation_bytes(const TransformerOptions& options, int64_t length, int64_t batch) {
  const double kept = kept_by_layer(options.width, options.hidden, options.heads);
  const double embedding = options.normalize_embedding ? real(options.width + 2) : 0.0;
  const double all_layers = real(options.documents) * (real(options.layers) * kept + embedding);
  return 4.0 * real(length) * real(batch) * (all_layers + moment_of_layer(options.width, options.hidden));
}

double activation_bytes(const TransformerLanguageOptions& options, int64_t length, int64_t batch) {
  const double tokens = real(length) * real(batch), d = real(options.width);
  const double kept = real(options.layers) * kept_by_layer(options.width, options.hidden, options.heads);
  const double final_norm = 2 * d + 2;  // input and statistics, and its output for the output layer
  // Either the last layer, or the output layer.
  const double layer = 4.0 * tokens * moment_of_layer(options.width, options.hidden);
  return 4.0 * tokens * (kept + final_norm) +
         std::max(layer, models::output_bytes(options, options.width, length * batch));
}

}  // namespace mega::baselines
