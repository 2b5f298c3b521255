#include "mega/models/cost.h"

#include <algorithm>

namespace mega::models {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

}  // namespace

double ema_multiply_adds(const BlockOptions& options) {
  const int64_t n = options.ema.kind == EmaKind::multidimensional
                        ? options.ema.dimension
                        : std::min<int64_t>(1, options.ema.dimension);
  const int64_t channels = options.ema.bidirectional ? 2 * options.width : options.width;
  return real(2 * channels * n);
}

double attention_multiply_adds(const BlockOptions& options, int64_t length) {
  const int64_t chunk = options.chunk > 0 ? std::min(options.chunk, length) : length;
  const double seen = options.causal ? (real(chunk) + 1.0) / 2.0 : real(chunk);
  return seen * real(options.shared + options.values);
}

double block_multiply_adds(const BlockOptions& options, int64_t length) {
  const int64_t d = options.width, z = options.shared, v = options.values;
  const int64_t products = d * v + d * (z + v + 2 * d) + v * d + 2 * d * options.hidden;
  return real(products) + attention_multiply_adds(options, length) + ema_multiply_adds(options);
}

double activation_bytes(const EncoderClassifierOptions& options, int64_t length, int64_t batch) {
  const BlockOptions& block = options.block;
  const double d = real(block.width), z = real(block.shared), v = real(block.values), f = real(block.hidden);
  const double mixed = 2 * d + z + v;
  // Kept by a block for its backward pass, per token (docs/architecture.md): the input of each sublayer and
  // of each norm, the EMA's sums, the projections, the attention's output and normalizer.
  double kept = 2 * d + (block.ema.dimension > 0 ? d : 0.0) + mixed + 2 * v + 1;
  if (block.hidden > 0) kept += 2 * d + f;
  // Alive for a moment in the backward pass of the gated attention: gradients of the projections, queries,
  // keys and values, and the gradients that do not take their place.
  const double moment = mixed + 3 * z + 2 * v + 2 * d;
  return 4.0 * real(length) * real(batch) * (real(options.layers) * kept + moment);
}

}  // namespace mega::models
