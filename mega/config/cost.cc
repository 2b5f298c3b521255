#include "mega/config/cost.h"

#include <algorithm>

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

// Rows of the output layer that every token needs.
double output_rows(const TokenOptions& options) {
  if (options.cutoffs.empty()) return real(options.vocabulary);
  return real(options.cutoffs.front() + static_cast<int64_t>(options.cutoffs.size()));
}

}  // namespace

double ema_multiply_adds(const BlockOptions& options) {
  const int64_t channels = options.ema.bidirectional ? 2 * options.width : options.width;
  // A complex average takes six for its two numbers.
  const int64_t each = options.ema.kind == EmaKind::complex ? 3 : 2;
  return real(each * channels * state_numbers(options.ema));
}

double attention_multiply_adds(const BlockOptions& options, int64_t length) {
  const int64_t chunk = options.chunk > 0 ? std::min(options.chunk, length) : length;
  const double seen = options.causal ? (real(chunk) + 1.0) / 2.0 : real(chunk);
  return seen * real(options.shared + options.values);
}

double cross_multiply_adds(const BlockOptions& options, int64_t length) {
  const int64_t d = options.width, z = options.shared;
  const int64_t products = d * (2 * d + z) + d * d + d * (z + d);
  return real(products) + real(length * (z + d));
}

double block_multiply_adds(const BlockOptions& options, int64_t length) {
  const int64_t d = options.width, z = options.shared, v = options.values;
  const int64_t products = d * v + d * (z + v + 2 * d) + v * d + 2 * d * options.hidden;
  return real(products) + attention_multiply_adds(options, length) + ema_multiply_adds(options);
}

int64_t block_weights(const BlockOptions& block) {
  const int64_t d = block.width, v = block.values, z = block.shared, f = block.hidden;
  const int64_t k = block.ema.bidirectional ? 2 * d : d;
  return 2 * d * v + d * (z + v + 2 * d) + 2 * d * f + 4 * k * block.ema.dimension;
}

int64_t feed_forward_like(const BlockOptions& block, int64_t others) {
  const int64_t d = block.width;
  return std::max<int64_t>(1, (block_weights(block) - others + d) / (2 * d));
}

int64_t heads_like(const BlockOptions& block, int64_t heads) { return block.width % heads == 0 ? heads : 1; }

BlockActivations block_activations(const BlockOptions& block) {
  const double d = real(block.width), z = real(block.shared), v = real(block.values), f = real(block.hidden);
  const double mixed = 2 * d + z + v;
  // Kept by a block for its backward pass, per token (docs/architecture.md): the input of each sublayer and
  // of each norm, the EMA's sums, the projections, the attention's output and normalizer.
  double kept = 2 * d + (block.ema.dimension > 0 ? d : 0.0) + mixed + 2 * v + 1;
  if (block.hidden > 0) kept += 2 * d + f;
  // Alive for a moment in the backward pass of the gated attention: gradients of the projections, queries,
  // keys and values, and the gradients that do not take their place.
  return {kept, mixed + 3 * z + 2 * v + 2 * d};
}

BlockActivations cross_activations(const BlockOptions& block) {
  const double d = real(block.width), z = real(block.shared);
  // Of the target: the query; the projection with its gates; the attention's output, and that times a gate;
  // the candidate before and after its activation and what it changes in the query; the sum, the norm's
  // input.
  const double target = d + (2 * d + z) + 2 * d + 2 * d + 2 * d + 1 + 3 * d;
  // Of the source: keys, and values before and after their activation.
  const double source = z + 2 * d;
  return {target + source, 3 * d + 2 * z + 2 * d};
}

double output_multiply_adds(const TokenOptions& options, int64_t width) {
  return (output_rows(options) + (options.output_dense ? real(width) : 0.0)) * real(width);
}

double output_bytes(const TokenOptions& options, int64_t width, int64_t tokens) {
  return softmax_bytes(output_rows(options), width, tokens);
}

double softmax_bytes(double rows, int64_t width, int64_t tokens) {
  const double d = real(width);
  const double scores = std::min(real(tokens) * rows, std::max(real(1 << 21), 128 * rows));
  return 4.0 * (scores + rows * d + real(tokens) * d);
}

}  // namespace mega
