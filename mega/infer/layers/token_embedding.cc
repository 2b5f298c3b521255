#include "mega/infer/layers/token_embedding.h"

#include <cmath>

namespace mega::infer {

using kernels::ConstRows;
using kernels::Rows;

TokenEmbedding::TokenEmbedding(WeightFile& file, const std::string& name, const TokenOptions& options,
                               int64_t width)
    : width_(width),
      vocabulary_(options.vocabulary),
      scale_(options.scale_embedding ? static_cast<float>(std::sqrt(static_cast<double>(width))) : 1.0f) {
  const int64_t own = options.embedding_width > 0 ? options.embedding_width : width;
  if (options.cutoffs.empty()) {
    Part part{{0, vocabulary_, own}, file.matrix(name + ".embed_tokens.weight", vocabulary_, own), {}};
    if (own != width) part.projection = Linear(file.matrix(name + ".project_in_dim.weight", width, own));
    parts_.push_back(part);
    return;
  }
  const auto bands = make_bands(options.cutoffs, vocabulary_, own, options.band_factor);
  for (size_t i = 0; i < bands.size(); ++i) {
    const std::string pair = name + ".embed_tokens.embeddings." + std::to_string(i);
    parts_.push_back({bands[i], file.matrix(pair + ".0.weight", bands[i].size(), bands[i].width),
                      Linear(file.matrix(pair + ".1.weight", width, bands[i].width))});
  }
}

TokenEmbedding::TokenEmbedding(const kernels::Weights& rows, bool scaled)
    : width_(rows.depth),
      vocabulary_(rows.rows),
      scale_(scaled ? static_cast<float>(std::sqrt(static_cast<double>(rows.depth))) : 1.0f),
      parts_{{{0, rows.rows, rows.depth}, rows, {}}} {}

void TokenEmbedding::forward(std::span<const int32_t> tokens, Rows x, const Run& run) const {
  std::vector<int64_t> members;
  for (const Part& part : parts_) {
    members.clear();
    for (size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i] >= part.band.begin && tokens[i] < part.band.end)
        members.push_back(static_cast<int64_t>(i));
    const int64_t count = std::ssize(members), width = part.band.width;
    if (count == 0) continue;
    const bool projected = part.projection.weights.data != nullptr;
    float* rows = run.work.floats(Workspace::kEmbedded, count * (width + width_));
    const Rows own{rows, width}, made{projected ? rows + count * width : rows, projected ? width_ : width};
    for (int64_t i = 0; i < count; ++i)
      kernels::weight_row(part.embeddings,
                          tokens[static_cast<size_t>(members[static_cast<size_t>(i)])] - part.band.begin,
                          own[i]);
    if (projected) multiply(part.projection, {own.data, own.stride}, made, count, run);
    for (int64_t i = 0; i < count; ++i) {
      const float* from = made[i];
      float* to = x[members[static_cast<size_t>(i)]];
      for (int64_t c = 0; c < width_; ++c) to[c] = from[c] * scale_;
    }
  }
}

}  // namespace mega::infer
