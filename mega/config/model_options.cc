#include "mega/config/model_options.h"

#include <algorithm>
#include <type_traits>

namespace mega {
namespace {

void check_embedding_norm(bool normalize_embedding, const BlockOptions& block) {
  require(!normalize_embedding || !block.prenorm,
          "normalize_embedding: a prenorm block normalises the embedding already; "
          "set normalize_embedding = false, or block.prenorm = false");
}

void check_channels(const SequenceOptions& options) {
  require(options.channels == 1 || options.input == InputKind::series,
          "channels: only input = series has several at each position");
}

void check_fields(const EncoderClassifierOptions& options) {
  validate(options.block);
  check_channels(options);
  check_embedding_norm(options.normalize_embedding, options.block);
}

void check_heads(int64_t width, int64_t heads) {
  require(width % heads == 0, "heads: a width of ", width, " does not divide into ", heads, " heads");
  require(width % 2 == 0 && width >= 4, "width: sinusoidal positions need an even width of at least 4, not ",
          width);
}

void check_fields(const TransformerOptions& options) {
  check_channels(options);
  check_heads(options.width, options.heads);
}

void check_bands(const TokenOptions& options, int64_t width) {
  int64_t begin = 0;
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

void check_tokens(const TokenOptions& options, int64_t width) {
  const int64_t embedding = options.embedding_width > 0 ? options.embedding_width : width;
  check_bands(options, embedding);
  require(options.cutoffs.empty() || options.tie_output,
          "tie_output: an adaptive softmax uses the embeddings of its bands; set tie_output = true");
  require(!options.tie_output || embedding == width, "tie_output: embeddings of width ", embedding,
          " cannot be the output layer of a model of width ", width, "; set tie_output = false");
}

void check_fields(const LanguageModelOptions& options) {
  validate(options.block);
  check_embedding_norm(options.normalize_embedding, options.block);
  require(options.block.causal,
          "block.causal: a language model predicts what comes next, so it must not see it; set block.causal "
          "= true (and block.ema.bidirectional = false)");
  check_tokens(options, options.block.width);
}

void check_fields(const TransformerLanguageOptions& options) {
  check_heads(options.width, options.heads);
  check_tokens(options, options.width);
  require(options.stride <= options.window, "stride: ", options.stride, " is more than the window of ",
          options.window);
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

int32_t cls_token(const SequenceOptions& options) {
  const bool stands_there = options.pooling == Pooling::cls && options.input == InputKind::tokens;
  return stands_there ? static_cast<int32_t>(options.vocabulary - 1) : -1;
}

BlockOptions decoder_block(const TranslatorOptions& options) {
  BlockOptions block = options.block;
  block.causal = true;
  block.ema.bidirectional = false;
  return block;
}

namespace {

// The part of a model's options that is a Base; null where there is none.
template <class Base>
Base* shared_part(ModelOptions& options) {
  return std::visit(
      [](auto& model) -> Base* {
        if constexpr (std::is_base_of_v<Base, std::remove_cvref_t<decltype(model)>>) return &model;
        return nullptr;
      },
      options.model);
}

// The width of a Transformer's feed-forward that gives each of its blocks as many parameters: the weights of
// a Mega block, 2 d v + d (z + v + 2 d) + 2 d f + 4 k n, less the 4 d^2 of its attention, at 2 d for each
// unit.
int64_t hidden_like(const BlockOptions& block) {
  const int64_t d = block.width, v = block.values, z = block.shared, f = block.hidden;
  const int64_t k = block.ema.bidirectional ? 2 * d : d;
  const int64_t weights = 2 * d * v + d * (z + v + 2 * d) + 2 * d * f + 4 * k * block.ema.dimension;
  return std::max<int64_t>(1, (weights - 4 * d * d + d) / (2 * d));
}

// Width, heads, feed-forward and dropout of a Transformer beside this block.
template <class Peer>
void fill_like(Peer& peer, const BlockOptions& block) {
  peer.width = block.width;
  peer.hidden = hidden_like(block);
  peer.dropout = block.dropout;
  peer.attention_dropout = block.attention_dropout;
  peer.activation_dropout = block.activation_dropout;
}

}  // namespace

SequenceOptions* sequence_options(ModelOptions& options) { return shared_part<SequenceOptions>(options); }

const SequenceOptions* sequence_options(const ModelOptions& options) {
  return sequence_options(const_cast<ModelOptions&>(options));
}

TokenOptions* token_options(ModelOptions& options) { return shared_part<TokenOptions>(options); }

const TokenOptions* token_options(const ModelOptions& options) {
  return token_options(const_cast<ModelOptions&>(options));
}

TransformerOptions transformer_like(const ModelOptions& options) {
  const EncoderClassifierOptions* mega = std::get_if<ClassifierOptions>(&options.model);
  const bool pair = mega == nullptr;
  if (pair) mega = std::get_if<MatcherOptions>(&options.model);
  require(mega != nullptr, "only a classifier or a matcher has a Transformer to compare with");

  TransformerOptions peer;
  static_cast<SequenceOptions&>(peer) = *mega;
  fill_like(peer, mega->block);
  peer.documents = pair ? 2 : 1;
  peer.heads = peer.width % 4 == 0 ? 4 : 1;
  return peer;
}

TransformerLanguageOptions transformer_like(const LanguageModelOptions& mega) {
  TransformerLanguageOptions peer;
  static_cast<TokenOptions&>(peer) = mega;
  fill_like(peer, mega.block);
  peer.heads = peer.width % 8 == 0 ? 8 : 1;
  // In the paper's proportions: 3072 and 512 beside chunks of 2048.
  if (mega.block.chunk > 0) {
    peer.window = std::max<int64_t>(1, 3 * mega.block.chunk / 2);
    peer.stride = std::max<int64_t>(1, mega.block.chunk / 4);
  }
  return peer;
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
