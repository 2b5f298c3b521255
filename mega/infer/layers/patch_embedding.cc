#include "mega/infer/layers/patch_embedding.h"

#include <algorithm>

namespace mega::infer {

PatchEmbedding::PatchEmbedding(WeightFile& file, const ImageOptions& options, int64_t patch, int64_t width)
    : rows_(options.rows()),
      columns_(options.columns()),
      channels_(options.channels),
      patch_(patch),
      grid_(options.patches(patch)),
      projection_(file, "patch_embed.pemb.proj", width, channels_ * patch * patch) {}

// One patch, whose first pixel is at this place: channel by channel, each row by row.
void PatchEmbedding::cut(const float* pixels, int64_t row, int64_t column, float* out) const {
  std::fill_n(out, channels_ * patch_ * patch_, 0.0f);
  const int64_t height = std::min(patch_, rows_ - row), width = std::min(patch_, columns_ - column);
  for (int64_t y = 0; y < height; ++y) {
    const float* line = pixels + ((row + y) * columns_ + column) * channels_;
    for (int64_t channel = 0; channel < channels_; ++channel)
      for (int64_t x = 0; x < width; ++x)
        out[(channel * patch_ + y) * patch_ + x] = line[x * channels_ + channel];
  }
}

void PatchEmbedding::forward(std::span<const float> pixels, kernels::Rows x, const Run& run) const {
  const int64_t depth = channels_ * patch_ * patch_;
  const kernels::Rows patches{run.work.floats(Workspace::kEmbedded, grid_.size() * depth), depth};
  run.rows(grid_.size(), depth, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      cut(pixels.data(), i / grid_.columns * patch_, i % grid_.columns * patch_, patches[i]);
  });
  multiply(projection_, {patches.data, depth}, x, grid_.size(), run);
}

}  // namespace mega::infer
