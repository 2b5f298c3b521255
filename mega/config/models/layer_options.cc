#include "mega/config/models/layer_options.h"

#include <algorithm>

namespace mega {

int64_t state_numbers(const EmaOptions& options) {
  if (options.kind == EmaKind::complex) return 2 * options.dimension;
  return options.kind == EmaKind::multidimensional ? options.dimension
                                                   : std::min<int64_t>(1, options.dimension);
}

void validate(const BlockOptions& options) {
  check_ranges(options, "block");
  require(options.chunk != 0,
          "block: chunk: 0 is no length; use -1 for full attention, or a positive number of positions");

  const bool rotates = options.position == PositionKind::rotary || options.position == PositionKind::rope;
  require(!rotates || options.shared % 2 == 0, "block: shared: position = ", to_string(options.position),
          " rotates pairs of channels, so the shared width must be even, got ", options.shared);

  require(options.ema.kind != EmaKind::complex || options.ema.truncation == 0,
          "block: ema.truncation: a complex moving average has none; set ema.truncation = 0");
  require(options.norm != NormKind::timestep || options.width % options.norm_groups == 0,
          "block: norm_groups: a width of ", options.width, " does not divide into ", options.norm_groups,
          " groups");

  const bool sees_future = options.ema.dimension > 0 && options.ema.bidirectional;
  require(!options.causal || !sees_future,
          "block: a causal block with a bidirectional moving average would see the future; "
          "set ema.bidirectional = false, or causal = false");
}

void check_embedding_norm(bool normalize_embedding, const BlockOptions& block) {
  require(!normalize_embedding || !block.prenorm,
          "normalize_embedding: a prenorm block normalises the embedding already; "
          "set normalize_embedding = false, or block.prenorm = false");
}

}  // namespace mega
