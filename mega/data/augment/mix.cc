#include "mega/data/augment/mix.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/data/augment/draws.h"

namespace mega::data {
namespace {

// Where a side of `length` around the centre begins and ends inside 0 .. size.
struct Interval {
  int64_t begin, end;
};
Interval around(int64_t centre, int64_t length, int64_t size) {
  const auto inside = [&](int64_t at) { return std::clamp<int64_t>(at, 0, size); };
  return {inside(centre - length / 2), inside(centre + length / 2)};
}

int64_t share_of(int64_t side, double share) {
  return static_cast<int64_t>(static_cast<double>(side) * share);
}

// Calls use(a, b) with each pair of examples that are mixed, once.
template <class Use>
void for_each_pair(int64_t size, const Use& use) {
  for (int64_t i = 0; i < size / 2; ++i) use(i, size - 1 - i);
}

void paste(std::span<float> one, std::span<float> other, const PictureShape& shape, const Box& box) {
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    const auto begin = static_cast<size_t>((y * shape.width + box.left) * shape.channels);
    const auto count = static_cast<size_t>(box.width * shape.channels);
    std::swap_ranges(&one[begin], &one[begin] + count, &other[begin]);
  }
}

void blend(std::span<float> one, std::span<float> other, double own) {
  const auto share = static_cast<float>(own), rest = static_cast<float>(1.0 - own);
  for (size_t i = 0; i < one.size(); ++i) {
    const float a = one[i], b = other[i];
    one[i] = share * a + rest * b;
    other[i] = share * b + rest * a;
  }
}

}  // namespace

Mix mixup(double own) { return {own, false, {}}; }

Mix cutmix(double own, int64_t centre_y, int64_t centre_x, const PictureShape& shape) {
  const double side = std::sqrt(1.0 - own);
  const Interval rows = around(centre_y, share_of(shape.height, side), shape.height);
  const Interval columns = around(centre_x, share_of(shape.width, side), shape.width);
  const Box box = {rows.begin, columns.begin, rows.end - rows.begin, columns.end - columns.begin};
  const double area = static_cast<double>(box.height * box.width);
  return {1.0 - area / static_cast<double>(shape.height * shape.width), true, box};
}

Mix draw_mix(const ImageAugmentOptions& options, const PictureShape& shape, Random& draws) {
  if (!options.mixes()) return {};
  const bool mixes = draws.unit() < options.mix_probability;
  const bool cuts = draws.unit() < options.cutmix_share;
  if (!mixes) return {};
  if (options.mixup <= 0 || (options.cutmix > 0 && cuts)) {
    const double own = draw_beta(draws, options.cutmix);
    const int64_t y = draws.below(shape.height), x = draws.below(shape.width);
    return cutmix(own, y, x, shape);
  }
  return mixup(draw_beta(draws, options.mixup));
}

void mix_pictures(std::span<float> values, const PictureShape& shape, const Mix& mix) {
  if (!mix.cut && mix.own == 1) return;
  const auto each = static_cast<size_t>(shape.values());
  require(each > 0 && values.size() % each == 0, "mixing: ", values.size(),
          " numbers do not divide into pictures of ", each);
  for_each_pair(static_cast<int64_t>(values.size() / each), [&](int64_t a, int64_t b) {
    const std::span<float> one = values.subspan(static_cast<size_t>(a) * each, each);
    const std::span<float> other = values.subspan(static_cast<size_t>(b) * each, each);
    if (mix.cut)
      paste(one, other, shape, mix.box);
    else
      blend(one, other, mix.own);
  });
}

std::vector<float> mix_labels(std::span<const int64_t> labels, int64_t classes, const Mix& mix) {
  std::vector<float> soft(labels.size() * static_cast<size_t>(classes));
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto add = [&](int64_t label, double weight) {
      soft[i * static_cast<size_t>(classes) + static_cast<size_t>(label)] += static_cast<float>(weight);
    };
    add(labels[i], mix.own);
    add(labels[labels.size() - 1 - i], 1.0 - mix.own);
  }
  return soft;
}

}  // namespace mega::data
