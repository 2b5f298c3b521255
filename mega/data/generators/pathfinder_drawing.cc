#include "mega/data/generators/pathfinder_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "mega/data/formats/resample.h"

namespace mega::data {
namespace {

constexpr int64_t kFiner = 2;  // pictures are drawn at this size and reduced

// Directions are whole degrees: without this, the last bit of a sine decides which way 0.5 * 4 is rounded.
int64_t round_up(double x) { return static_cast<int64_t>(std::ceil(x - 1e-9)); }

// One pixel per step of the longer direction (Bresenham).
void draw_thin_line(GreyImage& image, Point from, Point to) {
  const int64_t dy = std::abs(to.y - from.y), dx = std::abs(to.x - from.x);
  const int64_t step_y = to.y < from.y ? -1 : 1, step_x = to.x < from.x ? -1 : 1;
  const bool flat = dx > dy;
  const int64_t steps = std::max(dx, dy), other = std::min(dx, dy);
  int64_t error = 2 * other - steps;
  for (Point p = from;;) {
    image.at(p.y, p.x) = 255;
    if (p == to) return;
    if (error >= 0) {
      (flat ? p.y : p.x) += flat ? step_y : step_x;
      error -= 2 * steps;
    }
    error += 2 * other;
    (flat ? p.x : p.y) += flat ? step_x : step_y;
  }
}

// Half a pixel is rounded away from zero, or towards it.
int64_t half_out(double x) { return std::llround(x); }
int64_t half_in(double x) { return static_cast<int64_t>(std::copysign(std::ceil(std::abs(x) - 0.5), x)); }

// Fills the convex shape with these corners. In each row, half a pixel beyond the edges counts as inside.
void fill(GreyImage& image, const std::array<Point, 4>& corners) {
  const auto by_row = [](const Point& a, const Point& b) { return a.y < b.y; };
  const auto [top, bottom] = std::minmax_element(corners.begin(), corners.end(), by_row);
  for (int64_t y = top->y; y <= bottom->y; ++y) {
    auto left = static_cast<double>(image.width), right = -1.0;
    for (size_t i = 0; i < corners.size(); ++i) {
      const Point a = corners[i], b = corners[(i + 1) % corners.size()];
      if (y < std::min(a.y, b.y) || y > std::max(a.y, b.y)) continue;
      const double along = a.y == b.y ? 0 : static_cast<double>(y - a.y) / static_cast<double>(b.y - a.y);
      const double x = static_cast<double>(a.x) + along * static_cast<double>(b.x - a.x);
      left = std::min({left, x, a.y == b.y ? static_cast<double>(b.x) : x});
      right = std::max({right, x, a.y == b.y ? static_cast<double>(b.x) : x});
    }
    for (int64_t x = half_out(left); x <= half_in(right); ++x) {
      if (image.contains(y, x)) image.at(y, x) = 255;
    }
  }
}

// A bar whose corners are rounded to pixels.
void draw_thick_line(GreyImage& image, Point from, Point to, int64_t thickness) {
  const auto dy = static_cast<double>(to.y - from.y), dx = static_cast<double>(to.x - from.x);
  const double half = static_cast<double>(thickness - 1) / 2;
  const double more = static_cast<double>(half_out(half)) / std::hypot(dy, dx);
  const double less = static_cast<double>(half_in(half)) / std::hypot(dy, dx);
  const Point one{half_out(more * dx), -half_in(less * dy)};
  const Point other{-half_out(less * dx), half_in(more * dy)};
  fill(image, {Point{from.y + one.y, from.x + one.x}, Point{to.y + one.y, to.x + one.x},
               Point{to.y + other.y, to.x + other.x}, Point{from.y + other.y, from.x + other.x}});
}

GreyImage dilated(const GreyImage& image, const std::vector<Point>& by) {
  GreyImage out(image.height, image.width);
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      if (image.at(y, x) == 0) continue;
      for (const Point& p : by) {
        if (out.contains(y + p.y, x + p.x)) out.at(y + p.y, x + p.x) = 255;
      }
    }
  }
  return out;
}

}  // namespace

Point moved(Point from, double angle, double distance) {
  return {from.y + round_up(distance * std::sin(angle)), from.x + round_up(distance * std::cos(angle))};
}

std::vector<Point> disc_points(int64_t radius) {
  std::vector<Point> points;
  for (int64_t y = -radius; y <= radius; ++y) {
    for (int64_t x = -radius; x <= radius; ++x) {
      if (y * y + x * x <= radius * radius) points.push_back({y, x});
    }
  }
  return points;
}

DashPen::DashPen(int64_t length, double thickness, int64_t margin)
    : length_(length), thickness_(thickness), margin_(margin) {}

const Dash& DashPen::dash(double angle) {
  const Point end = moved({}, angle, static_cast<double>(length_ * kFiner));
  const auto [entry, is_new] = drawn_.try_emplace({end.y, end.x});
  if (is_new) entry->second = draw(end);
  return entry->second;
}

Dash DashPen::draw(Point end) const {
  Dash dash;
  dash.radius = length_ + static_cast<int64_t>(std::ceil(thickness_)) + margin_;
  const int64_t side = 2 * dash.radius + 1;
  const int64_t centre = dash.radius * kFiner;
  GreyImage fine(2 * centre + 1, 2 * centre + 1);
  const Point to{centre + end.y, centre + end.x};
  const int64_t thickness = std::llround(thickness_ * kFiner);
  if (thickness <= 1) {
    draw_thin_line(fine, {centre, centre}, to);
  } else {
    draw_thick_line(fine, {centre, centre}, to, thickness);
  }
  dash.line = resampled(fine, side, side, Filter::lanczos);
  dash.mask = resampled(dilated(fine, disc_points(margin_ * kFiner)), side, side, Filter::lanczos);
  const int64_t reach = length_ + margin_;
  bool corners[2][2] = {};
  for (int64_t y = -reach; y <= reach; ++y) {
    for (int64_t x = -reach; x <= reach; ++x) {
      if (dash.mask.at(dash.radius + y - 1, dash.radius + x - 1) != 255) continue;
      dash.footprint.push_back({y, x});
      for (const bool down : {false, true}) {
        for (const bool right : {false, true}) {
          if ((down ? y >= 0 : y <= 0) && (right ? x >= 0 : x <= 0)) corners[down][right] = true;
        }
      }
    }
  }
  dash.placeable = corners[0][0] && corners[0][1] && corners[1][0] && corners[1][1];
  return dash;
}

void draw_disc(GreyImage& image, Point centre, double radius) {
  // Only the part of the picture that the disc, blurred by the filter, can reach.
  const int64_t reach = static_cast<int64_t>(std::ceil(radius)) + 6;
  const int64_t top = std::max<int64_t>(0, centre.y - reach), left = std::max<int64_t>(0, centre.x - reach);
  const int64_t height = std::min(image.height, centre.y + reach) - top;
  const int64_t width = std::min(image.width, centre.x + reach) - left;
  GreyImage fine(height * kFiner, width * kFiner);
  for (int64_t y = 0; y < fine.height; ++y) {
    for (int64_t x = 0; x < fine.width; ++x) {
      const auto dy = static_cast<double>(y - (centre.y - top) * kFiner);
      const auto dx = static_cast<double>(x - (centre.x - left) * kFiner);
      const double limit = radius * kFiner;
      if (dy * dy + dx * dx <= limit * limit) fine.at(y, x) = 255;
    }
  }
  const GreyImage disc = resampled(fine, height, width, Filter::lanczos);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      uint8_t& pixel = image.at(top + y, left + x);
      pixel = std::max(pixel, disc.at(y, x));
    }
  }
}

}  // namespace mega::data
