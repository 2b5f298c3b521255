#include "mega/report/svg.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "mega/base/strings.h"
#include "mega/report/markup.h"

namespace mega::svg {
namespace {

// One colour per curve, distinguishable for colour-blind readers (after Okabe and Ito); brighter in dark
// mode. A stand-alone chart paints its background, because a viewer's may be white even in dark mode.
constexpr std::array<const char*, kColours> kLight = {"#0072b2", "#d55e00", "#00865f", "#a8497f",
                                                      "#3a9bd9", "#b87d00", "#6b5bb5", "#57606a"};
constexpr std::array<const char*, kColours> kDark = {"#58b0ea", "#ff9757", "#3fc99a", "#e69ac6",
                                                     "#a0d8ff", "#f0bd50", "#b3a6f5", "#a9b3bd"};

std::string palette(const std::array<const char*, kColours>& colours) {
  std::string css;
  for (size_t i = 0; i < kColours; ++i) css += "--c" + std::to_string(i) + ":" + colours[i] + ";";
  return css;
}

// Image viewers that do not know variables of CSS skip the second of two declarations and take the first.
std::string make_style() {
  return "<style>.mega-chart{--ink:#24292f;--faint:#656d76;--grid:#e3e6ea;--shade:#0b69b3;" +
         palette(kLight) +
         "font:12px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;"
         "font-variant-numeric:tabular-nums}"
         ".mega-chart:root{background:#fff}"
         "@media(prefers-color-scheme:dark){"
         ".mega-chart{--ink:#e6e9ed;--faint:#98a1ab;--grid:#30363d;--shade:#2f81c7;" +
         palette(kDark) +
         "}.mega-chart:root{background:#15181c}}"
         ".mega-chart text{fill:#24292f;fill:var(--ink)}"
         ".mega-chart .title{font-size:13px;font-weight:600}.mega-chart .count{font-size:11px}"
         ".mega-chart .faint{fill:#656d76;fill:var(--faint);font-size:11px}.mega-chart .on{fill:#fff}"
         ".mega-chart .grid{stroke:#e3e6ea;stroke:var(--grid)}"
         ".mega-chart .axis{stroke:#656d76;stroke:var(--faint)}"
         ".mega-chart .curve{fill:none;stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}"
         ".mega-chart .error{fill:none;stroke-width:1.2}"
         ".mega-chart .diagonal{stroke:#656d76;stroke:var(--faint);stroke-dasharray:5 4}"
         ".mega-chart .cell{fill:#0b69b3;fill:var(--shade)}"
         ".mega-chart .bar,.mega-chart .points{fill:#0072b2;fill:var(--c0)}</style>";
}

}  // namespace

std::string number(double value) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + number(value) + "\"";
}

std::string document(const std::string& title, double width, double height, const std::string& content) {
  static const std::string kStyle = make_style();
  constexpr size_t kLongestTitle = 70;
  const std::string safe = escape_markup(shortened(title, kLongestTitle));
  const std::string heading =
      title.empty() ? "" : "<text class=\"title\" x=\"8\" y=\"18\">" + safe + "</text>";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mega-chart\" role=\"img\" aria-label=\"" + safe +
         "\"" + attribute("width", width) + attribute("height", height) + " viewBox=\"0 0 " + number(width) +
         " " + number(height) + "\">" + kStyle + heading + content + "</svg>\n";
}

std::string coloured(const char* property, size_t index, const std::string& more) {
  index %= kColours;
  return std::string(" style=\"") + property + ":var(--c" + std::to_string(index) + ")" + more + "\" " +
         property + "=\"" + kLight[index] + "\"";
}

std::string text_at(double x, double y, const std::string& text, Anchor anchor, const char* kind,
                    const std::string& more) {
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

void Extent::add(double value) {
  low = any ? std::min(low, value) : value;
  high = any ? std::max(high, value) : value;
  any = true;
}

std::vector<Point> thinned(const std::vector<Point>& points, size_t intervals) {
  if (points.size() <= 2 * intervals) return points;
  const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
  std::vector<Point> kept;
  for (size_t i = 0; i < intervals; ++i) {
    const auto begin = points.begin() + static_cast<ptrdiff_t>(i * points.size() / intervals);
    const auto end = points.begin() + static_cast<ptrdiff_t>((i + 1) * points.size() / intervals);
    auto [low, high] = std::minmax_element(begin, end, by_y);
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (low != high) kept.push_back(*high);
  }
  return kept;
}

}  // namespace mega::svg
