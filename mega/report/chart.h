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
  // Half the length of each point's error bar; missing, not finite or <= 0: none. Drawn where points have
  // markers: on curves of fewer than 40 points.
  std::vector<double> errors = {};
};

struct LineChart {
  std::string title, x_label, y_label;
  std::vector<Curve> curves;
  bool log_y = false;  // if true, values <= 0 are gaps
  bool log_x = false;
};

// Predictions (y) of true values (x). Both axes are the same; on the dashed diagonal the two are equal. Of
// many points, those farthest from it are drawn, and a sample of the others that is the same each time.
struct ScatterChart {
  std::string title, x_label, y_label;
  std::vector<Point> points;  // one that is not finite is left out
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

// Series of numbers at a glance, for a row of a table: no text, no axes, and a range for each channel. It has
// no style and takes the colour of the text around it.
struct Sparkline {
  std::vector<std::vector<float>> channels;  // the first four are drawn; what is not finite is a gap
};

std::string to_svg(const LineChart& chart);
std::string to_svg(const ScatterChart& chart);
std::string to_svg(const HeatMap& chart);
std::string to_svg(const Spectrum& chart);
std::string to_svg(const Sparkline& chart);  // "" without a number to draw

}  // namespace mega
