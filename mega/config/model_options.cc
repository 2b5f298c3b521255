#include "mega/config/model_options.h"

namespace mega {
namespace {

void check_embedding_norm(bool normalize_embedding, const BlockOptions& block) {
  require(!normalize_embedding || !block.prenorm,
          "normalize_embedding: a prenorm block normalises the embedding already; "
          "set normalize_embedding = false, or block.prenorm = false");
}

void check_fields(const EncoderClassifierOptions& options) {
  validate(options.block);
  check_embedding_norm(options.normalize_embedding, options.block);
}

void check_fields(const LanguageModelOptions& options) {
  validate(options.block);
  check_embedding_norm(options.normalize_embedding, options.block);
  require(options.block.causal,
          "block.causal: a language model predicts what comes next, so it must not see it; set block.causal "
          "= true "
          "(and block.ema.bidirectional = false)");

  int64_t begin = 0;
  int64_t width = options.embedding_width > 0 ? options.embedding_width : options.block.width;
  for (const int64_t cutoff : options.cutoffs) {
    require(cutoff > begin &&
                    cutoff<options.vocabulary, "cutoffs: expected growing numbers below the vocabulary of ",
                           options.vocabulary, ", got ", cutoff, begin> 0
                ? " after " + std::to_string(begin)
                : "");
    begin = cutoff;
    width /= options.band_factor;
  }
  require(width >= 1, "cutoffs: ", options.cutoffs.size(), " bands, each ", options.band_factor,
          " times narrower than the one before, leave no width for the last; use fewer, or a smaller "
          "band_factor");
}

void check_fields(const TranslatorOptions& options) {
  validate(options.block);
  check_embedding_norm(options.normalize_embedding, options.block);
  require(
      !options.block.causal,
      "block.causal: the block describes the encoder, which sees its whole input (the decoder is causal by "
      "itself); set block.causal = false");
}

void check_fields(const ImageClassifierOptions& options) {
  validate(options.block);
  require(options.image % options.patch == 0, "patch: an image of ", options.image,
          " pixels does not divide into patches of ", options.patch);
  const int64_t side = options.image / options.patch;
  const BlockOptions& block = options.block;
  require(block.position != PositionKind::simple || block.chunk > 0 || side * side <= block.max_positions,
          "block.max_positions: an image has ", side * side,
          " patches, more than max_positions = ", block.max_positions);
}

}  // namespace

BlockOptions decoder_block(const TranslatorOptions& options) {
  BlockOptions block = options.block;
  block.causal = true;
  block.ema.bidirectional = false;
  return block;
}

void validate(const ModelOptions& options) {
  check_ranges(options, "model");
  try {
    std::visit([](const auto& model) { check_fields(model); }, options.model);
  } catch (const Error& error) {
    fail("model: ", error.what());
  }
}

}  // namespace mega
