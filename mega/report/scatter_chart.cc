#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/report/chart.h"
#include "mega/report/svg.h"

namespace mega {
namespace {

using namespace svg;

constexpr size_t kMostPoints = 2000;

std::vector<Point> drawable_points(const std::vector<Point>& points) {
  std::vector<Point> result;
  for (const Point& point : points)
    if (drawable(point.x, false) && drawable(point.y, false)) result.push_back(point);
  return result;
}

// At most kMostPoints: the farthest from the diagonal, which are what a reader looks for, and of the others
// those whose number has the smallest hash: a sample that does not favour any period or end of the data.
std::vector<Point> sample(const std::vector<Point>& points) {
  if (points.size() <= kMostPoints) return points;
  constexpr ptrdiff_t kFarthest = 200;
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto farther = [&](size_t a, size_t b) {
    const double first = std::abs(points[a].y - points[a].x), second = std::abs(points[b].y - points[b].x);
    return first != second ? first > second : a < b;
  };
  const auto smaller_hash = [](size_t a, size_t b) { return mix_bits(a + 1) < mix_bits(b + 1); };
  std::nth_element(order.begin(), order.begin() + kFarthest, order.end(), farther);
  std::nth_element(order.begin() + kFarthest, order.begin() + kMostPoints, order.end(), smaller_hash);
  order.resize(kMostPoints);
  std::sort(order.begin(), order.end());
  std::vector<Point> result;
  for (const size_t i : order) result.push_back(points[i]);
  return result;
}

std::string draw_points(const Frame& frame, const std::vector<Point>& points) {
  constexpr size_t kFew = 200;
  const bool few = points.size() <= kFew;
  const char* radius = few ? "3" : "2";
  // Where many lie on each other, they are darker.
  std::string svg = std::string("<g class=\"points\" fill-opacity=\"") + (few ? "0.6" : "0.3") + "\">";
  for (const Point& point : points)
    svg += "<circle" + attribute("cx", frame.at_x(point.x)) + attribute("cy", frame.at_y(point.y)) + " r=\"" +
           radius + "\"/>";
  return svg + "</g>";
}

}  // namespace

std::string to_svg(const ScatterChart& chart) {
  const std::vector<Point> all = drawable_points(chart.points);
  if (all.empty()) return nothing_to_draw(chart.title);
  Extent extent;
  for (const Point& point : all) {
    extent.add(point.x);
    extent.add(point.y);
  }
  const std::vector<Point> points = sample(all);
  const Axis axis = make_axis(extent.low, extent.high, false, 5, true);
  constexpr double kSide = 330;
  constexpr double kTop = 68;
  const double left = 14 + std::max(widest_label(axis), 2 * kCharacter);
  const Frame frame{
      .left = left, .top = kTop, .right = left + kSide, .bottom = kTop + kSide, .x = axis, .y = axis};

  std::string legend = "dashed: prediction = truth";
  if (points.size() < all.size())
    legend +=
        "; " + with_thousands(std::ssize(points)) + " of " + with_thousands(std::ssize(all)) + " points";
  std::string svg = text_at(8, 36, legend, Anchor::kStart, "faint");
  svg += draw_axes(frame, chart.x_label, chart.y_label);
  svg += line("diagonal", frame.left, frame.bottom, frame.right, frame.top);
  svg += draw_points(frame, points);
  return document(chart.title, frame.right + 16, frame.bottom + 40, svg);
}

}  // namespace mega
