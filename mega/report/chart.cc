#include "mega/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "mega/base/strings.h"
#include "mega/report/markup.h"
#include "mega/report/svg.h"

namespace mega {
namespace {

using namespace svg;

constexpr size_t kIntervals = 400;  // that can be told apart at this width

std::string draw_run(const Frame& frame, const std::vector<Point>& run) {
  std::string path;
  for (const Point& point : thinned(run, kIntervals))
    path += (path.empty() ? "M" : "L") + number(frame.at_x(point.x)) + " " + number(frame.at_y(point.y));
  return run.size() == 1 ? path + "h0" : path;  // a single point: drawn as a dot
}

std::string draw_line(const Frame& frame, const Curve& curve, const std::string& style) {
  std::string path;
  std::vector<Point> run;
  for (const Point& point : curve.points) {
    if (frame.shows(point)) {
      run.push_back(point);
      continue;
    }
    path += draw_run(frame, run);
    run.clear();
  }
  path += draw_run(frame, run);
  return "<path class=\"curve\"" + style + " d=\"" + path + "\"/>";
}

// Vary the colour first, then the dashes.
std::string curve_style(size_t index) {
  constexpr std::array kDashes = {"", ";stroke-dasharray:6 4", ";stroke-dasharray:2 4"};
  return coloured("stroke", index, kDashes[index / kColours % kDashes.size()]);
}

// Whether the points of a curve are so few that each gets a marker and its error bar.
bool marks_points(const Curve& curve) {
  constexpr size_t kFew = 40;
  return curve.points.size() < kFew;
}

// Half the length of a point's error bar; 0: it has none.
double error_of(const Curve& curve, size_t point) {
  if (!marks_points(curve) || point >= curve.errors.size()) return 0;
  const double error = curve.errors[point];
  return error > 0 && drawable(curve.points[point].y + error, false) ? error : 0;
}

std::string marker(double x, double y, size_t curve, const std::string& description) {
  const std::string title = description.empty() ? "" : "<title>" + escape_markup(description) + "</title>";
  return "<circle class=\"dot\"" + coloured("fill", curve) + attribute("cx", x) + attribute("cy", y) +
         " r=\"3\">" + title + "</circle>";
}

std::string error_bar(const Frame& frame, const Point& point, double error, size_t curve) {
  constexpr double kCap = 4;
  const double x = frame.at_x(point.x);
  const double top = frame.at_y(point.y + error);
  const bool ends = drawable(point.y - error, frame.y.log);  // else beyond a logarithmic axis
  const double bottom = ends ? frame.at_y(point.y - error) : frame.bottom;
  const auto cap = [&](double y) {
    return "M" + number(x - kCap) + " " + number(y) + "H" + number(x + kCap);
  };
  return "<path class=\"error\"" + coloured("stroke", curve) + " d=\"M" + number(x) + " " + number(top) +
         "V" + number(bottom) + cap(top) + (ends ? cap(bottom) : "") + "\"/>";
}

// Shown when the pointer rests on a marker.
std::string description_of(const LineChart& chart, const Point& point, double error) {
  constexpr size_t kLongestLabel = 40;
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(), " %.6g: %.6g", point.x, point.y);
  std::string description = shortened(chart.x_label, kLongestLabel) + text.data();
  std::snprintf(text.data(), text.size(), " ± %.2g", error);
  return error > 0 ? description + text.data() : description;
}

// Markers of a curve with few points, with their error bars; of others, of single points between gaps, which
// a line does not show.
std::string draw_points(const Frame& frame, const LineChart& chart, size_t index) {
  const Curve& curve = chart.curves[index];
  const auto shown = [&](size_t i) { return i < curve.points.size() && frame.shows(curve.points[i]); };
  const bool all = marks_points(curve);
  std::string bars, markers;
  size_t alone = 0;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    if (!shown(i)) continue;
    if (!all && (shown(i - 1) || shown(i + 1) || ++alone > kIntervals)) continue;
    const Point& point = curve.points[i];
    const double error = error_of(curve, i);
    if (error > 0) bars += error_bar(frame, point, error, index);
    markers += marker(frame.at_x(point.x), frame.at_y(point.y), index, description_of(chart, point, error));
  }
  return bars + markers;
}

struct Legend {
  std::string svg;
  double bottom;
};

Legend draw_legend(const std::vector<Curve>& curves, double top) {
  constexpr size_t kLongestName = 40;
  constexpr double kRow = 17;
  Legend legend{"", top};
  double x = 8;
  for (size_t i = 0; i < curves.size(); ++i) {
    const std::string name = shortened(curves[i].name, kLongestName);
    const double width = 24 + text_width(name) + 14;
    if (i == 0 || x + width > kWidth) {
      x = 8;
      legend.bottom += kRow;
    }
    const double y = legend.bottom - 4;
    legend.svg +=
        "<path class=\"curve\"" + curve_style(i) + " d=\"M" + number(x) + " " + number(y) + "h18\"/>";
    if (marks_points(curves[i])) legend.svg += marker(x + 9, y, i, "");
    legend.svg += text_at(x + 24, y + 4, name);
    x += width;
  }
  return legend;
}

// Exact if it fits into a cell.
std::string count_label(double value) {
  constexpr double kLongest = 10'000;
  if (std::abs(value) < kLongest && value == std::floor(value))
    return std::to_string(static_cast<int>(value));
  return tick_label(value, std::abs(value) / 100);
}

}  // namespace

std::string to_svg(const LineChart& chart) {
  Extent x, y;
  for (const Curve& curve : chart.curves) {
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const Point& point = curve.points[i];
      if (!drawable(point.x, chart.log_x) || !drawable(point.y, chart.log_y)) continue;
      const double error = error_of(curve, i);
      x.add(point.x);
      y.add(point.y + error);
      y.add(drawable(point.y - error, chart.log_y) ? point.y - error : point.y);
    }
  }
  if (!x.any) return nothing_to_draw(chart.title);

  // A single curve with the name of the chart needs no legend.
  const bool alone =
      chart.curves.size() == 1 && (chart.curves[0].name.empty() || chart.curves[0].name == chart.title);
  const Legend legend = draw_legend(alone ? std::vector<Curve>{} : chart.curves, 24);
  const double top = legend.bottom + (chart.y_label.empty() ? 14 : 30);
  const Axis y_axis = make_axis(y.low, y.high, chart.log_y, 5, true);
  const Frame frame{.left = 14 + std::max(widest_label(y_axis), 2 * kCharacter),
                    .top = top,
                    .right = kWidth - 16,
                    .bottom = top + kHeight - 90,
                    .x = make_axis(x.low, x.high, chart.log_x, 6, false),
                    .y = y_axis};
  std::string svg = legend.svg + draw_axes(frame, chart.x_label, chart.y_label);
  for (size_t i = 0; i < chart.curves.size(); ++i)
    svg += draw_line(frame, chart.curves[i], curve_style(i)) + draw_points(frame, chart, i);
  return document(chart.title, kWidth, frame.bottom + 40, svg);
}

std::string to_svg(const HeatMap& chart) {
  const size_t rows = chart.rows.size();
  const size_t columns = chart.columns.size();
  if (rows == 0 || columns == 0) return nothing_to_draw(chart.title);
  const auto value_at = [&](size_t row, size_t column) {
    const bool there = row < chart.values.size() && column < chart.values[row].size();
    return there && drawable(chart.values[row][column], false) ? chart.values[row][column] : 0;
  };
  constexpr size_t kLongestName = 18;
  std::vector<std::string> row_names, column_names;
  double row_space = 0, column_space = 0;
  for (const std::string& name : chart.rows) {
    row_names.push_back(shortened(name, kLongestName));
    row_space = std::max(row_space, text_width(row_names.back()));
  }
  for (const std::string& name : chart.columns) {
    column_names.push_back(shortened(name, kLongestName));
    column_space = std::max(column_space, text_width(column_names.back()));
  }
  const double left = row_space + 24;
  const double cell = std::clamp((kWidth - left - 12) / static_cast<double>(columns), 30.0, 72.0);
  const bool slanted = column_space > cell - 4;
  constexpr double kSlant = 0.7;  // sine and cosine of 45 degrees
  const double top = 50 + (slanted ? column_space * kSlant : 12);
  const double width = left + cell * static_cast<double>(columns) + (slanted ? column_space * kSlant : 12);

  std::string svg =
      text_at(8, 36, chart.row_label + " ↓   " + chart.column_label + " →", Anchor::kStart, "faint");
  for (size_t column = 0; column < columns; ++column) {
    const double x = left + cell * (static_cast<double>(column) + 0.5);
    const std::string turn = " transform=\"rotate(-45 " + number(x) + " " + number(top - 8) + ")\"";
    svg += text_at(x, top - 8, column_names[column], slanted ? Anchor::kStart : Anchor::kMiddle, "",
                   slanted ? turn : "");
  }
  for (size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (size_t column = 0; column < columns; ++column) sum += std::max(0.0, value_at(row, column));
    const double y = top + cell * static_cast<double>(row);
    svg += text_at(left - 8, y + cell / 2 + 4, row_names[row], Anchor::kEnd);
    for (size_t column = 0; column < columns; ++column) {
      const double value = value_at(row, column);
      const double share = sum > 0 ? std::max(0.0, value) / sum : 0;
      const double x = left + cell * static_cast<double>(column);
      // The square root makes errors of a few percent visible.
      const double shade = 0.04 + 0.96 * std::sqrt(share);
      std::array<char, 16> opacity;
      std::snprintf(opacity.data(), opacity.size(), "%.3f", shade);
      svg += "<rect class=\"cell\"" + attribute("x", x + 1) + attribute("y", y + 1) +
             attribute("width", cell - 2) + attribute("height", cell - 2) + " rx=\"2\" fill-opacity=\"" +
             opacity.data() + "\"><title>" +
             escape_markup(chart.rows[row] + " → " + chart.columns[column] + ": " + count_label(value)) +
             "</title></rect>";
      const char* kind = shade > 0.6 ? "count on" : value == 0 ? "count faint" : "count";
      svg += text_at(x + cell / 2, y + cell / 2 + 4, count_label(value), Anchor::kMiddle, kind,
                     " pointer-events=\"none\"");
    }
  }
  return document(chart.title, width, top + cell * static_cast<double>(rows) + 8, svg);
}

std::string to_svg(const Spectrum& chart) {
  Extent range;
  for (const double value : chart.values)
    if (drawable(value, chart.log_x)) range.add(value);
  if (!range.any) return nothing_to_draw(chart.title);
  const bool given =
      drawable(chart.low, chart.log_x) && drawable(chart.high, chart.log_x) && chart.low < chart.high;
  const Axis x = given ? make_axis(chart.low, chart.high, chart.log_x, 6, false)
                       : make_axis(range.low, range.high, chart.log_x, 6, false);

  constexpr size_t kBins = 32;
  std::array<int64_t, kBins> counts{};
  for (const double value : chart.values) {
    if (!drawable(value, chart.log_x)) continue;
    const double bin = std::floor(x.place(value) * kBins);
    ++counts[static_cast<size_t>(std::clamp(bin, 0.0, static_cast<double>(kBins - 1)))];
  }
  const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  const Axis y = make_axis(0, most, false, 3, true);
  constexpr double kPlot = 110;
  const Frame frame{.left = 14 + std::max(widest_label(y), 2 * kCharacter),
                    .top = 34,
                    .right = kWidth - 16,
                    .bottom = 34 + kPlot,
                    .x = x,
                    .y = y};
  std::string svg = draw_axes(frame, chart.x_label, "");
  const double width = (frame.right - frame.left) / kBins;
  for (size_t bin = 0; bin < kBins; ++bin) {
    if (counts[bin] == 0) continue;
    const double height = frame.bottom - frame.at_y(static_cast<double>(counts[bin]));
    svg += "<rect class=\"bar\"" + attribute("x", frame.left + width * static_cast<double>(bin) + 0.5) +
           attribute("y", frame.bottom - height) + attribute("width", width - 1) +
           attribute("height", height) + "/>";
  }
  return document(chart.title, kWidth, frame.bottom + 40, svg);
}

}  // namespace mega
