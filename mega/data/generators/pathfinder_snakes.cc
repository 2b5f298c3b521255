#include "mega/data/generators/pathfinder_snakes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

namespace mega::data {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr int kTries = 3;            // of a dash
constexpr int kOccupied = 77;        // masks that are fainter, under 0.3, count as free
constexpr int kCrossing = 459;       // two masks that add up to this, 1.8, are on each other
constexpr double kDeadEnd = 1e-4;    // sum of the weights of all ways to go on
constexpr double kLeastFree = 0.01;  // share of the picture under which no snake begins

double draw_angle(Random& draws) { return static_cast<double>(draws.between(-180, 179)) * kPi / 180; }

Point sum(Point a, Point b) { return {a.y + b.y, a.x + b.x}; }

bool contains(const GreyImage& image, Point p) { return image.contains(p.y, p.x); }

// Calls `each(picture's pixel, mask's pixel)` where the stroke's square lies in the picture.
template <class Image, class Each>
void for_each_pixel(Image& picture, const Stroke& stroke, const GreyImage& of_dash, Each each) {
  const int64_t top = stroke.at.y - stroke.dash->radius, left = stroke.at.x - stroke.dash->radius;
  const int64_t bottom = std::min(picture.height, top + of_dash.height);
  const int64_t right = std::min(picture.width, left + of_dash.width);
  for (int64_t y = std::max<int64_t>(0, top); y < bottom; ++y) {
    for (int64_t x = std::max<int64_t>(0, left); x < right; ++x) {
      each(picture.at(y, x), of_dash.at(y - top, x - left));
    }
  }
}

bool crosses(const GreyImage& occupied, const Stroke& stroke) {
  int most = 0;
  for_each_pixel(occupied, stroke, stroke.dash->mask,
                 [&](uint8_t there, uint8_t mask) { most = std::max(most, there + mask); });
  return most >= kCrossing;
}

void occupy(GreyImage& occupied, const Stroke& stroke) {
  for_each_pixel(occupied, stroke, stroke.dash->mask,
                 [](uint8_t& there, uint8_t mask) { there = std::max(there, mask); });
}

// Where all of a dash that begins there is on free pixels; the border of the picture is not free.
std::vector<Point> free_places(const GreyImage& occupied, const Dash& dash) {
  if (!dash.placeable) return {};
  const int64_t height = occupied.height, width = occupied.width;
  std::vector<uint8_t> taken(occupied.pixels.size());
  std::transform(occupied.pixels.begin(), occupied.pixels.end(), taken.begin(),
                 [](uint8_t there) { return there >= kOccupied; });
  std::fill_n(taken.begin(), width, uint8_t{1});
  std::fill_n(taken.end() - width, width, uint8_t{1});
  for (int64_t y = 0; y < height; ++y) {
    taken[static_cast<size_t>(y * width)] = taken[static_cast<size_t>(y * width + width - 1)] = 1;
  }
  // The union of shifted copies, row by row.
  std::vector<uint8_t> blocked(taken.size());
  for (const Point& p : dash.footprint) {
    const int64_t first = std::max<int64_t>(0, -p.x), end = std::min(width, width - p.x);
    for (int64_t y = std::max<int64_t>(0, -p.y); y < std::min(height, height - p.y); ++y) {
      const int64_t into = y * width, from = (y + p.y) * width + p.x;
      for (int64_t x = first; x < end; ++x) {
        blocked[static_cast<size_t>(into + x)] |= taken[static_cast<size_t>(from + x)];
      }
    }
  }
  std::vector<Point> places;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      if (!blocked[static_cast<size_t>(y * width + x)]) places.push_back({y, x});
    }
  }
  return places;
}

}  // namespace

SnakeGrower::SnakeGrower(const PathfinderOptions& options, int64_t margin)
    : options_(options),
      margin_(margin),
      pen_(options.dash_length, options.dash_thickness, margin),
      clearance_(disc_points(margin)) {
  // One end point per pixel of arc; those that fall on the same pixel count once.
  const auto radius = static_cast<double>(options.dash_length + margin);
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int i = 0; i < 2 * kPi * radius; ++i) {
    const double angle = i / radius;
    const auto y = static_cast<int64_t>(std::floor(radius * std::sin(angle)));
    const auto x = static_cast<int64_t>(std::floor(radius * std::cos(angle)));
    if (!seen.insert({y, x}).second) continue;
    reaches_.push_back({{y, x}, std::atan2(static_cast<double>(y), static_cast<double>(x))});
  }
}

std::optional<std::array<Snake, 2>> SnakeGrower::pair(Random& draws, GreyImage& occupied) {
  std::optional<Snake> first = begin_in_the_middle(draws);
  if (!first) return std::nullopt;
  std::optional<Snake> second = begin_beside(*first, draws);
  if (!second) return std::nullopt;
  std::array<Snake, 2> snakes = {std::move(*first), std::move(*second)};
  for (int64_t i = 1; i < options_.contour_length; ++i) {
    for (Snake& snake : snakes) {
      if (!extend(snake, draws, occupied)) return std::nullopt;
    }
  }
  for (const Snake& snake : snakes) occupy(occupied, snake.strokes.back());
  return snakes;
}

std::optional<Snake> SnakeGrower::distractor(Random& draws, GreyImage& occupied) {
  std::optional<Snake> snake = begin_anywhere(draws, occupied);
  if (!snake) return std::nullopt;
  GreyImage grown = occupied;
  for (int64_t i = 1; i < options_.distractor_length; ++i) {
    if (!extend(*snake, draws, grown)) return std::nullopt;
  }
  occupy(grown, snake->strokes.back());
  occupied = std::move(grown);
  return snake;
}

std::optional<Snake> SnakeGrower::begin(Point tail, double angle) {
  Snake snake;
  const Point head = moved(tail, angle, static_cast<double>(options_.dash_length));
  snake.pivot = moved(head, angle + kPi, static_cast<double>(options_.dash_length + margin_));
  snake.angle = angle;
  for (const Point& p : {tail, head, snake.pivot}) {
    if (std::min(p.y, p.x) < 0 || std::max(p.y, p.x) >= options_.size) return std::nullopt;
  }
  snake.strokes.push_back({&pen_.dash(angle), tail, tail, head});
  return snake;
}

std::optional<Snake> SnakeGrower::begin_anywhere(Random& draws, const GreyImage& occupied) {
  const auto free = std::count_if(occupied.pixels.begin(), occupied.pixels.end(),
                                  [](uint8_t there) { return there < kOccupied; });
  if (static_cast<double>(free) < kLeastFree * static_cast<double>(occupied.pixels.size()))
    return std::nullopt;
  for (int i = 0; i < kTries; ++i) {
    const double angle = draw_angle(draws);
    const std::vector<Point> places = free_places(occupied, pen_.dash(angle));
    if (places.empty()) return std::nullopt;
    const Point tail = places[static_cast<size_t>(draws.below(static_cast<int64_t>(places.size())))];
    if (auto snake = begin(tail, angle)) return snake;
  }
  return std::nullopt;
}

// With the whole dash within the inner square that is 2 * seed_distance from every side.
std::optional<Snake> SnakeGrower::begin_in_the_middle(Random& draws) {
  const int64_t low = std::max(options_.padding, 2 * options_.seed_distance);
  for (int i = 0; i < kTries; ++i) {
    const double angle = draw_angle(draws);
    const Dash& dash = pen_.dash(angle);
    if (!dash.placeable) return std::nullopt;
    Point least, most;
    for (const Point& p : dash.footprint) {
      least = {std::min(least.y, p.y), std::min(least.x, p.x)};
      most = {std::max(most.y, p.y), std::max(most.x, p.x)};
    }
    const Point first{low - least.y, low - least.x};
    const Point last{options_.size - 1 - low - most.y, options_.size - 1 - low - most.x};
    if (first.y > last.y || first.x > last.x) return std::nullopt;
    const int64_t y = draws.between(first.y, last.y);
    const int64_t x = draws.between(first.x, last.x);
    if (auto snake = begin({y, x}, angle)) return snake;
  }
  return std::nullopt;
}

std::optional<Snake> SnakeGrower::begin_beside(const Snake& other, Random& draws) {
  for (int i = 0; i < kTries; ++i) {
    const double angle = draw_angle(draws);
    const double direction = draw_angle(draws);
    const auto distance = static_cast<double>(options_.seed_distance);
    const Point from = other.strokes.front().tail;
    const Point tail{from.y + std::llround(distance * std::sin(direction)),
                     from.x + std::llround(distance * std::cos(direction))};
    if (auto snake = begin(tail, angle)) return snake;
  }
  return std::nullopt;
}

double SnakeGrower::continuity_weight(double angle, double last_angle) const {
  const double difference = std::abs(angle - last_angle);
  const double turn = std::min(difference, 2 * kPi - difference);
  const double cosine = std::cos(std::min(turn * options_.continuity, kPi / 2));
  return std::max(cosine, 0.0) * std::max(cosine, 0.0);
}

bool SnakeGrower::extend(Snake& snake, Random& draws, GreyImage& occupied) {
  const Point pivot =
      moved(snake.pivot, snake.angle, static_cast<double>(options_.dash_length + 2 * margin_));
  double total = 0;
  sums_.clear();
  for (const Reach& reach : reaches_) {
    const Point head = sum(pivot, reach.offset);
    const double weight = continuity_weight(reach.angle, snake.angle);
    if (weight > 0 && contains(occupied, head)) {
      uint8_t most = 0;
      for (const Point& p : clearance_) {
        const Point near = sum(head, p);
        if (contains(occupied, near)) most = std::max(most, occupied.at(near.y, near.x));
      }
      total += weight * (255 - most) / 255.0;
    }
    sums_.push_back(total);
  }
  if (total < kDeadEnd) return false;

  for (int i = 0; i < kTries; ++i) {
    const auto chosen = std::upper_bound(sums_.begin(), sums_.end(), draws.unit() * total);
    const auto index = std::min<size_t>(static_cast<size_t>(chosen - sums_.begin()), reaches_.size() - 1);
    const Reach& reach = reaches_[index];
    // Dashes are drawn from their head, back to a margin before the pivot.
    const Point head = sum(pivot, reach.offset);
    const double back = reach.angle + kPi;
    const Point tail = moved(head, back, static_cast<double>(options_.dash_length));
    const Stroke stroke{&pen_.dash(back), head, tail, head};
    if (crosses(occupied, stroke)) continue;
    occupy(occupied, snake.strokes.back());
    snake.strokes.push_back(stroke);
    snake.pivot = pivot;
    snake.angle = reach.angle;
    return true;
  }
  return false;
}

}  // namespace mega::data
