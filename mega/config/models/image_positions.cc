#include "mega/config/models/image_positions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "mega/base/error.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

// What a place between others takes of them.
struct Tap {
  int64_t index;
  double weight;
};

// The four places around the centre of place i, where `from` places are scaled to `to`; those beyond an end
// are the one at the end. Keys' cubic with a = -3/4, as libtorch has it.
std::array<Tap, 4> cubic_taps(int64_t i, int64_t from, int64_t to) {
  constexpr double a = -0.75;
  const double at = (real(i) + 0.5) * real(from) / real(to) - 0.5, base = std::floor(at), t = at - base;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const std::array<double, 4> weights = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  std::array<Tap, 4> taps;
  for (int64_t k = 0; k < 4; ++k)
    taps[static_cast<size_t>(k)] = {std::clamp<int64_t>(static_cast<int64_t>(base) - 1 + k, 0, from - 1),
                                    weights[static_cast<size_t>(k)]};
  return taps;
}

std::vector<float> resize_absolute(std::span<const float> values, Grid from, Grid to, int64_t extra) {
  const int64_t width = std::ssize(values) / (from.size() + extra);
  require(std::ssize(values) == (from.size() + extra) * width, "pos_embed has ", values.size(),
          " numbers, which are no ", from.size() + extra, " positions");
  std::vector<float> result(values.begin(), values.begin() + extra * width);
  result.reserve(static_cast<size_t>((to.size() + extra) * width));
  for (int64_t row = 0; row < to.rows; ++row) {
    const auto rows = cubic_taps(row, from.rows, to.rows);
    for (int64_t column = 0; column < to.columns; ++column) {
      const auto columns = cubic_taps(column, from.columns, to.columns);
      for (int64_t d = 0; d < width; ++d) {
        double sum = 0.0;
        for (const Tap& y : rows)
          for (const Tap& x : columns) {
            const int64_t position = extra + y.index * from.columns + x.index;
            sum +=
                y.weight * x.weight * static_cast<double>(values[static_cast<size_t>(position * width + d)]);
          }
        result.push_back(static_cast<float>(sum));
      }
    }
  }
  return result;
}

// Tables of 2 P - 1 offsets, of which the middle one is 0.
std::vector<float> resize_relative(std::span<const float> values, Grid from, Grid to, int64_t positions) {
  const int64_t reach = std::ssize(values) / 2;
  const auto at = [&](int64_t offset) {
    return static_cast<double>(values[static_cast<size_t>(reach + std::clamp(offset, -reach, reach))]);
  };
  std::vector<float> result;
  for (int64_t offset = 1 - positions; offset < positions; ++offset) {
    const auto rows = static_cast<int64_t>(std::lround(real(offset) / real(to.columns)));
    const double y = real(rows) * real(from.rows) / real(to.rows);
    const double x = real(offset - rows * to.columns) * real(from.columns) / real(to.columns);
    const double top = std::floor(y), left = std::floor(x);
    const auto row = [&](double r) {
      const int64_t first = static_cast<int64_t>(r) * from.columns + static_cast<int64_t>(left);
      return (1 - (x - left)) * at(first) + (x - left) * at(first + 1);
    };
    result.push_back(static_cast<float>((1 - (y - top)) * row(top) + (y - top) * row(top + 1)));
  }
  return result;
}

}  // namespace

std::optional<std::vector<float>> resized_positions(const ImageOptions& from, const ImageOptions& to,
                                                    const std::string& name, std::span<const float> values) {
  const std::optional<Grid> before = from.patch_grid(), after = to.patch_grid();
  if (!before || !after || values.empty()) return std::nullopt;
  if (name == "pos_embed") return resize_absolute(values, *before, *after, from.extra_tokens());
  if (!name.ends_with(".rel_pos_bias.rel_pos_bias")) return std::nullopt;
  // Chunks keep their length.
  const bool chunked = std::ssize(values) != 2 * before->size() - 1;
  return resize_relative(values, *before, *after, chunked ? (std::ssize(values) + 1) / 2 : after->size());
}

}  // namespace mega
