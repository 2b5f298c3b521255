#include "mega/data/augment/random_box.h"

#include <cmath>

#include "mega/data/augment/draws.h"

namespace mega::data {
namespace {

constexpr int kAttempts = 10;

double real(int64_t value) { return static_cast<double>(value); }

// Halves to even, as Python does it.
int64_t rounded(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

int64_t place(double share, int64_t free) { return static_cast<int64_t>(share * real(free + 1)); }

// The sides of a box of this share of the area, of which `one` is `ratio` times the other.
struct Sides {
  int64_t one, other;
};
Sides sides_of(int64_t height, int64_t width, const BoxDraw& draw) {
  const double area = draw.area * real(height * width), ratio = std::exp(draw.log_ratio);
  return {rounded(std::sqrt(area * ratio)), rounded(std::sqrt(area / ratio))};
}

}  // namespace

BoxDraw draw_box(const BoxRange& range, Random& draws) {
  BoxDraw draw;
  draw.area = draw_uniform(draws, range.min_area, range.max_area);
  draw.log_ratio = draw_uniform(draws, std::log(range.min_ratio), std::log(range.max_ratio));
  draw.top = draws.unit();
  draw.left = draws.unit();
  return draw;
}

std::optional<Box> crop_box(int64_t height, int64_t width, const BoxDraw& draw) {
  const auto [w, h] = sides_of(height, width, draw);
  if (w < 1 || h < 1 || w > width || h > height) return std::nullopt;
  return Box{place(draw.top, height - h), place(draw.left, width - w), h, w};
}

Box central_crop(int64_t height, int64_t width, double min_ratio, double max_ratio) {
  const double ratio = real(width) / real(height);
  int64_t h = height, w = width;
  if (ratio < min_ratio) h = std::min(height, std::max<int64_t>(1, rounded(real(width) / min_ratio)));
  if (ratio > max_ratio) w = std::min(width, std::max<int64_t>(1, rounded(real(height) * max_ratio)));
  return {(height - h) / 2, (width - w) / 2, h, w};
}

Box draw_crop(int64_t height, int64_t width, const BoxRange& range, Random& draws) {
  for (int i = 0; i < kAttempts; ++i)
    if (const auto box = crop_box(height, width, draw_box(range, draws))) return *box;
  return central_crop(height, width, range.min_ratio, range.max_ratio);
}

std::optional<Box> erase_box(int64_t height, int64_t width, const BoxDraw& draw) {
  const auto [h, w] = sides_of(height, width, draw);
  if (w >= width || h >= height) return std::nullopt;
  return Box{place(draw.top, height - h), place(draw.left, width - w), h, w};
}

std::optional<Box> draw_erase(int64_t height, int64_t width, const BoxRange& range, Random& draws) {
  for (int i = 0; i < kAttempts; ++i)
    if (const auto box = erase_box(height, width, draw_box(range, draws))) return box;
  return std::nullopt;
}

}  // namespace mega::data
