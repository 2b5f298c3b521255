#include "mega/data/generators/pathfinder.h"

#include <algorithm>
#include <optional>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/data/generators/pathfinder_snakes.h"

namespace mega::data {
namespace {

constexpr int kPairTries = 200'000;
constexpr int kDistractorTries = 5;

GreyImage border(int64_t size, int64_t padding) {
  GreyImage image(size, size);
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      const int64_t to_side = std::min({y, x, size - 1 - y, size - 1 - x});
      image.at(y, x) = to_side < padding ? 255 : 0;
    }
  }
  return image;
}

// Brightness that may exceed a marker's, which is 1.
class Canvas {
 public:
  explicit Canvas(int64_t size) : size_(size), light_(static_cast<size_t>(size * size)) {}

  void draw(const Snake& snake, double contrast) {
    for (const Stroke& stroke : snake.strokes) {
      const GreyImage& line = stroke.dash->line;
      const int64_t top = stroke.at.y - stroke.dash->radius, left = stroke.at.x - stroke.dash->radius;
      for (int64_t y = std::max<int64_t>(0, top); y < std::min(size_, top + line.height); ++y) {
        for (int64_t x = std::max<int64_t>(0, left); x < std::min(size_, left + line.width); ++x) {
          brighten(static_cast<size_t>(y * size_ + x), line.at(y - top, x - left) / 255.0 * contrast);
        }
      }
    }
  }

  void draw(const GreyImage& markers) {
    for (size_t i = 0; i < light_.size(); ++i) brighten(i, markers.pixels[i] / 255.0);
  }

  // The darkest pixel becomes 0 and the brightest 255.
  GreyImage scaled() const {
    const double least = *std::min_element(light_.begin(), light_.end());
    const double scale = 255 / (*std::max_element(light_.begin(), light_.end()) - least);
    GreyImage image(size_, size_);
    std::transform(light_.begin(), light_.end(), image.pixels.begin(),
                   [&](double light) { return static_cast<uint8_t>((light - least) * scale + 0.5); });
    return image;
  }

 private:
  // Single precision, as published: many pixels are half way between two greys.
  void brighten(size_t pixel, double light) {
    light_[pixel] = std::max(light_[pixel], static_cast<double>(static_cast<float>(light)));
  }

  int64_t size_;
  std::vector<double> light_;
};

}  // namespace

PathfinderGenerator::PathfinderGenerator(const PathfinderOptions& options, uint64_t seed)
    : options_(options), seed_(seed) {
  check(options);
  for (const int64_t margin : options.margins) {
    growers_.push_back(std::make_unique<SnakeGrower>(options, margin));
  }
}

PathfinderGenerator::~PathfinderGenerator() = default;

PathfinderExample PathfinderGenerator::example(int64_t index) {
  Random draws(stream_seed(seed_, "pathfinder", static_cast<uint64_t>(index)));
  PathfinderExample example;
  example.label = static_cast<int>(draws.below(2));
  const auto chosen = static_cast<size_t>(draws.below(static_cast<int64_t>(growers_.size())));
  SnakeGrower& grower = *growers_[chosen];
  example.margin = options_.margins[chosen];

  const GreyImage empty = border(options_.size, options_.padding);
  GreyImage occupied;
  std::optional<std::array<Snake, 2>> pair;
  for (int i = 0; i < kPairTries && !pair; ++i) {
    occupied = empty;
    pair = grower.pair(draws, occupied);
  }
  require(pair.has_value(), "pathfinder: no room for two contours of ", options_.contour_length,
          " dashes in a picture of ", options_.size, " pixels; make the picture larger or contours shorter");

  Canvas picture(options_.size);
  for (const Snake& snake : *pair) picture.draw(snake, options_.contour_contrast);
  for (int64_t i = 0; i < options_.distractors; ++i) {
    std::optional<Snake> snake;
    for (int k = 0; k < kDistractorTries && !snake; ++k) snake = grower.distractor(draws, occupied);
    if (snake) picture.draw(*snake, options_.distractor_contrast);
  }

  const auto origin = static_cast<size_t>(draws.below(2));
  const size_t terminal = example.label == 1 ? origin : 1 - origin;
  example.discs = {(*pair)[origin].strokes.front().tail, (*pair)[terminal].strokes.back().head};
  GreyImage markers(options_.size, options_.size);
  for (const Point& disc : example.discs) draw_disc(markers, disc, options_.marker_radius);
  picture.draw(markers);
  example.image = picture.scaled();
  for (size_t i = 0; i < 2; ++i) {
    for (const Stroke& stroke : (*pair)[i].strokes) example.contours[i].push_back({stroke.tail, stroke.head});
  }
  return example;
}

}  // namespace mega::data
