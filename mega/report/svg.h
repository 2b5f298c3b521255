// What the charts are drawn with: the document and its style, texts, lines, and a frame with axes.
#pragma once

#include <string>
#include <vector>

#include "mega/report/chart.h"
#include "mega/report/chart_axis.h"

namespace mega::svg {

inline constexpr double kWidth = 480;
inline constexpr double kHeight = 280;
inline constexpr double kCharacter = 6.6;  // approximate width of a character
inline constexpr size_t kColours = 8;

std::string number(double value);
std::string attribute(const char* name, double value);

// Attributes that give "stroke" or "fill" one of the colours, from 0 on, with more of their style.
std::string coloured(const char* property, size_t index, const std::string& more = "");

// A whole chart. The title is plain text.
std::string document(const std::string& title, double width, double height, const std::string& content);
std::string nothing_to_draw(const std::string& title);

enum class Anchor { kStart, kMiddle, kEnd };

std::string text_at(double x, double y, const std::string& text, Anchor anchor = Anchor::kStart,
                    const char* kind = "", const std::string& more = "");
std::string line(const char* kind, double x1, double y1, double x2, double y2);
double text_width(const std::string& text);

// The plot area in document coordinates (y downwards).
struct Frame {
  double left, top, right, bottom;
  Axis x, y;

  double at_x(double value) const { return left + x.place(value) * (right - left); }
  double at_y(double value) const { return bottom - y.place(value) * (bottom - top); }
  bool shows(const Point& point) const { return drawable(point.x, x.log) && drawable(point.y, y.log); }
};

std::string draw_axes(const Frame& frame, const std::string& x_label, const std::string& y_label);
double widest_label(const Axis& axis);

// Smallest and largest of some values.
struct Extent {
  double low = 0, high = 0;
  bool any = false;

  void add(double value);
};

// Reduces a run without gaps to the points that are visible at this width: the min and max of each of so many
// intervals, so that no peak is lost.
std::vector<Point> thinned(const std::vector<Point>& points, size_t intervals);

}  // namespace mega::svg
