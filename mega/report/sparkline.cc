#include <algorithm>
#include <cmath>

#include "mega/report/chart.h"
#include "mega/report/svg.h"

namespace mega {
namespace {

using namespace svg;

constexpr double kLength = 180;
constexpr double kRow = 30;
constexpr double kMargin = 3;

std::string draw_channel(const std::vector<float>& values, const Extent& range, double top) {
  constexpr size_t kIntervals = 90;
  constexpr size_t kMostWithGaps = 10'000;  // in a longer series a gap would not be seen
  const double last = std::max<double>(1, static_cast<double>(values.size()) - 1);
  const double size = range.high - range.low;
  const auto at_x = [&](double x) { return kMargin + x / last * (kLength - 2 * kMargin); };
  const auto at_y = [&](double y) {
    const double share = size > 0 ? (y - range.low) / size : 0.5;
    return top + kRow - kMargin - share * (kRow - 2 * kMargin);
  };
  std::string path;
  std::vector<Point> run;
  const auto draw = [&] {
    const char* step = "M";
    for (const Point& point : thinned(run, kIntervals)) {
      path += step + number(at_x(point.x)) + " " + number(at_y(point.y));
      step = "L";
    }
    if (run.size() == 1) path += "h0";
    run.clear();
  };
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    if (drawable(value, false))
      run.push_back({static_cast<double>(i), value});
    else if (values.size() <= kMostWithGaps)
      draw();
  }
  draw();
  return "<path d=\"" + path + "\"/>";
}

}  // namespace

std::string to_svg(const Sparkline& chart) {
  constexpr size_t kMostChannels = 4;
  std::string content, label;
  double height = 0;
  for (size_t i = 0; i < std::min(chart.channels.size(), kMostChannels); ++i) {
    Extent range;
    for (const float value : chart.channels[i])
      if (drawable(static_cast<double>(value), false)) range.add(static_cast<double>(value));
    if (!range.any) continue;
    content += draw_channel(chart.channels[i], range, height);
    height += kRow;
    const double step = std::max({std::abs(range.low), std::abs(range.high), 1e-99}) / 100;
    label += (label.empty() ? "from " : "; from ") + tick_label(range.low, step) + " to " +
             tick_label(range.high, step);
  }
  if (content.empty()) return "";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mega-spark\" role=\"img\" aria-label=\"" + label +
         "\"" + attribute("width", kLength) + attribute("height", height) + " viewBox=\"0 0 " +
         number(kLength) + " " + number(height) +
         "\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.2\"" +
         " stroke-linejoin=\"round\" stroke-linecap=\"round\"><title>" + label + "</title>" + content +
         "</svg>";
}

}  // namespace mega
