// Small SVG charts for reports and documentation. They contain their own style, follow light and dark mode,
// and look the same inside a page and as a file. Any text and any numbers can be drawn.
#pragma once

#include <string>
#include <vector>

namespace mega {

struct Point {
  double x = 0, y = 0;
};

struct Curve {
  std::string name;
  std::vector<Point> points;  // sorted by x; a point that is not finite is a gap
};

struct LineChart {
  std::string title, x_label, y_label;
  std::vector<Curve> curves;
  bool log_y = false;  // if true, values <= 0 are gaps
  bool log_x = false;
};

// A matrix with its numbers; each cell is shaded by its share of the row, for confusion matrices.
struct HeatMap {
  std::string title, row_label, column_label;
  std::vector<std::string> rows, columns;
  std::vector<std::vector<double>> values;  // [row][column]; missing values are 0
};

// A histogram over a logarithmic or linear axis.
struct Spectrum {
  std::string title, x_label;
  std::vector<double> values;
  bool log_x = true;         // if true, values <= 0 are left out
  double low = 0, high = 0;  // axis limits; 0, 0: min and max of the values
};

std::string to_svg(const LineChart& chart);
std::string to_svg(const HeatMap& chart);
std::string to_svg(const Spectrum& chart);

}  // namespace mega
