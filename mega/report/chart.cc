#include "mega/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "mega/base/strings.h"
#include "mega/report/chart_axis.h"
#include "mega/report/markup.h"

namespace mega {
namespace {

// One colour per curve, distinguishable for colour-blind readers (after Okabe and Ito); brighter in dark
// mode. A stand-alone chart paints its background, because a viewer's may be white even in dark mode.
constexpr const char* kStyle =
    "<style>"
    ".mega-chart{--ink:#24292f;--faint:#6e7781;--grid:#e3e6ea;--shade:#0b69b3;"
    "--c0:#0072b2;--c1:#d55e00;--c2:#00865f;--c3:#a8497f;--c4:#3a9bd9;--c5:#b87d00;--c6:#6b5bb5;--c7:#57606a;"
    "font:12px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;"
    "font-variant-numeric:tabular-nums}"
    ".mega-chart:root{background:#fff}"
    "@media(prefers-color-scheme:dark){.mega-chart{--ink:#e6e9ed;--faint:#98a1ab;--grid:#30363d;--shade:#"
    "2f81c7;"
    "--c0:#58b0ea;--c1:#ff9757;--c2:#3fc99a;--c3:#e69ac6;--c4:#a0d8ff;--c5:#f0bd50;--c6:#b3a6f5;--c7:#a9b3bd}"
    ".mega-chart:root{background:#15181c}}"
    ".mega-chart text{fill:var(--ink)}.mega-chart .title{font-size:13px;font-weight:600}"
    ".mega-chart .count{font-size:11px}.mega-chart .faint{fill:var(--faint);font-size:11px}.mega-chart "
    ".on{fill:#fff}"
    ".mega-chart .grid{stroke:var(--grid)}.mega-chart .axis{stroke:var(--faint)}"
    ".mega-chart .curve{fill:none;stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}"
    ".mega-chart .cell{fill:var(--shade)}.mega-chart .bar{fill:var(--c0)}"
    "</style>";
constexpr size_t kColours = 8;

constexpr double kWidth = 480;
constexpr double kHeight = 280;
constexpr double kCharacter = 6.6;  // approximate width of a character

std::string number(double value) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + number(value) + "\"";
}

std::string document(const std::string& title, double width, double height, const std::string& content) {
  const std::string safe = escape_markup(title);
  const std::string heading =
      title.empty() ? "" : "<text class=\"title\" x=\"8\" y=\"18\">" + safe + "</text>";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mega-chart\" role=\"img\" aria-label=\"" + safe +
         "\"" + attribute("width", width) + attribute("height", height) + " viewBox=\"0 0 " + number(width) +
         " " + number(height) + "\">" + kStyle + heading + content + "</svg>\n";
}

enum class Anchor { kStart, kMiddle, kEnd };

std::string text_at(double x, double y, const std::string& text, Anchor anchor = Anchor::kStart,
                    const char* kind = "", const std::string& more = "") {
  const char* anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  const std::string kind_attribute = *kind == '\0' ? "" : std::string(" class=\"") + kind + "\"";
  return "<text" + kind_attribute + attribute("x", x) + attribute("y", y) +
         anchors[static_cast<int>(anchor)] + more + ">" + escape_markup(text) + "</text>";
}

std::string line(const char* kind, double x1, double y1, double x2, double y2) {
  return std::string("<path class=\"") + kind + "\" d=\"M" + number(x1) + " " + number(y1) + "L" +
         number(x2) + " " + number(y2) + "\"/>";
}

double text_width(const std::string& text) { return kCharacter * static_cast<double>(display_width(text)); }

// The plot area in document coordinates (y downwards).
struct Frame {
  double left, top, right, bottom;
  Axis x, y;

  double at_x(double value) const { return left + x.place(value) * (right - left); }
  double at_y(double value) const { return bottom - y.place(value) * (bottom - top); }
};

std::string draw_axes(const Frame& frame, const std::string& x_label, const std::string& y_label) {
  std::string svg;
  for (const Tick& tick : frame.y.ticks) {
    const double y = frame.at_y(tick.value);
    svg += line("grid", frame.left, y, frame.right, y);
    svg += text_at(frame.left - 6, y + 4, tick.label, Anchor::kEnd, "faint");
  }
  for (const Tick& tick : frame.x.ticks) {
    const double x = frame.at_x(tick.value);
    svg += line("axis", x, frame.bottom, x, frame.bottom + 4);
    svg += text_at(x, frame.bottom + 16, tick.label, Anchor::kMiddle, "faint");
  }
  svg += line("axis", frame.left, frame.bottom, frame.right, frame.bottom);
  svg += text_at((frame.left + frame.right) / 2, frame.bottom + 32, x_label, Anchor::kMiddle, "faint");
  // Above the axis instead of rotated beside it: easier to read.
  if (!y_label.empty()) svg += text_at(8, frame.top - 12, y_label, Anchor::kStart, "faint");
  return svg;
}

std::string nothing_to_draw(const std::string& title) {
  return document(title, kWidth, 80, text_at(kWidth / 2, 50, "no data", Anchor::kMiddle, "faint"));
}

double widest_label(const Axis& axis) {
  double widest = 0;
  for (const Tick& tick : axis.ticks) widest = std::max(widest, text_width(tick.label));
  return widest;
}

struct Extent {
  double low = 0, high = 0;
  bool any = false;

  void add(double value) {
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
};

// Reduces a run without gaps to the points that are visible at this width: the min and max of each interval,
// so that no peak is lost.
std::vector<Point> thinned(const std::vector<Point>& points) {
  constexpr size_t kStretches = 400;
  if (points.size() <= 2 * kStretches) return points;
  const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
  std::vector<Point> kept;
  for (size_t i = 0; i < kStretches; ++i) {
    const auto begin = points.begin() + static_cast<ptrdiff_t>(i * points.size() / kStretches);
    const auto end = points.begin() + static_cast<ptrdiff_t>((i + 1) * points.size() / kStretches);
    auto [low, high] = std::minmax_element(begin, end, by_y);
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (low != high) kept.push_back(*high);
  }
  return kept;
}

std::string draw_run(const Frame& frame, const std::vector<Point>& run) {
  std::string path;
  for (const Point& point : thinned(run))
    path += (path.empty() ? "M" : "L") + number(frame.at_x(point.x)) + " " + number(frame.at_y(point.y));
  return run.size() == 1 ? path + "h0" : path;  // a single point: drawn as a dot
}

std::string draw_curve(const Frame& frame, const Curve& curve, const std::string& style) {
  std::string path;
  std::vector<Point> run;
  for (const Point& point : curve.points) {
    if (drawable(point.x, frame.x.log) && drawable(point.y, frame.y.log)) {
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
  return " style=\"stroke:var(--c" + std::to_string(index % kColours) + ")" +
         kDashes[index / kColours % kDashes.size()] + "\"";
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
    for (const Point& point : curve.points) {
      if (!drawable(point.x, chart.log_x) || !drawable(point.y, chart.log_y)) continue;
      x.add(point.x);
      y.add(point.y);
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
  for (size_t i = 0; i < chart.curves.size(); ++i) svg += draw_curve(frame, chart.curves[i], curve_style(i));
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
