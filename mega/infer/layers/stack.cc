#include "mega/infer/layers/stack.h"

#include "mega/base/error.h"

namespace mega::infer {

Stack::Stack(WeightFile& file, const std::string& name, const StackOptions& options) : options_(options) {
  const BlockOptions& block = options.block;
  const std::string holder = name.empty() ? "" : name + ".";
  const auto norm = [&](const char* which, bool affine) {
    return Norm(file, holder + which, block.width, plain_norm(block.norm), affine);
  };
  if (options.normalize_embedding) embed_norm_ = norm("embed_norm", block.affine);
  blocks_.reserve(static_cast<size_t>(options.layers));
  for (int64_t i = 0; i < options.layers; ++i) {
    const std::string layer = holder + options.blocks + "." + std::to_string(i);
    blocks_.push_back({GatedAttention(file, layer + ".mega_layer", block), {}, {}});
    if (options.cross_attention) blocks_.back().cross.emplace(file, layer + ".cross_attn", block);
    if (block.hidden > 0) blocks_.back().feed_forward.emplace(file, layer + ".nffn", block);
  }
  if (block.prenorm && options.final_norm) final_norm_ = norm("final_norm", options.affine_final_norm);
}

bool Stack::streams() const {
  const BlockOptions& block = options_.block;
  return block.causal && !(block.ema.dimension > 0 && block.ema.bidirectional);
}

State Stack::initial_state(kernels::WeightType type, int64_t page) const {
  require(
      streams(),
      "this model cannot stream, because it is not causal: streaming needs a model with causal = true and "
      "ema.bidirectional = false");
  State state;
  for (const Block& block : blocks_) state.blocks.push_back(block.attention.initial_state(type, page));
  return state;
}

void Stack::check_length(int64_t length) const {
  blocks_.front().attention.check_length(length);
  if (blocks_.front().cross) blocks_.front().cross->check_length(length);
}

Sources Stack::read_sources(kernels::ConstRows encoded, std::span<const SourceRange> ranges,
                            const Run& run) const {
  Sources sources{{ranges.begin(), ranges.end()}, {}};
  for (const Block& block : blocks_) sources.layers.push_back(block.cross->read(encoded, ranges, run));
  return sources;
}

void Stack::forward(kernels::Rows x, int64_t rows, std::span<const Segment> segments, const Run& run,
                    const Sources* sources, const AttentionWeights* weights) const {
  // Check first: a call that fails leaves the states unchanged.
  for (const Segment& segment : segments) check_length(segment.position() + segment.length);
  const kernels::ConstRows constant{x.data, x.stride};
  if (embed_norm_) embed_norm_->forward(constant, x, rows, run);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].attention.forward(x, rows, segments, i, run);
    if (blocks_[i].cross)
      blocks_[i].cross->forward(x, rows, segments, sources->ranges, sources->layers[i],
                                i + 1 == blocks_.size() ? weights : nullptr, run);
    if (blocks_[i].feed_forward) blocks_[i].feed_forward->forward(x, rows, run);
  }
  if (final_norm_) final_norm_->forward(constant, x, rows, run);
  for (const Segment& segment : segments)
    if (segment.state != nullptr) segment.state->position += segment.length;
}

}  // namespace mega::infer
