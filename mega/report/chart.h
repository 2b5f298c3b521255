// Small charts as SVG, for reports and documentation. They bring their own style, follow light and dark mode,
// and look the same inside a page and opened as a file. Any text and any numbers are safe to draw.
#pragma once

#include <string>
#include <vector>

namespace mega {

struct Point {
  double x = 0, y = 0;
};

struct Curve {
  std::string name;
  std::vector<Point> points;  // by rising x; one that is not finite is a gap
};

struct LineChart {
  std::string title, x_label, y_label;
  std::vector<Curve> curves;
  bool log_y = false;  // values of 0 and less are gaps then
  bool log_x = false;
};

// A matrix with its numbers; each cell is shaded by its share of its row, as suits a confusion matrix.
struct HeatMap {
  std::string title, row_label, column_label;
  std::vector<std::string> rows, columns;
  std::vector<std::vector<double>> values;  // [row][column]; what is missing is 0
};

// How often values fall where: a histogram over a logarithmic or linear axis.
struct Spectrum {
  std::string title, x_label;
  std::vector<double> values;
  bool log_x = true;         // values of 0 and less are left out then
  double low = 0, high = 0;  // of the axis; 0, 0: as the values have it
};

std::string to_svg(const LineChart& chart);
std::string to_svg(const HeatMap& chart);
std::string to_svg(const Spectrum& chart);

}  // namespace mega
