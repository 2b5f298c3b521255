#include "mega/report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mega/report/chart_axis.h"
#include "tests/base/helpers.h"
#include "tests/base/well_formed.h"

namespace mega {
namespace {

using testing::contains;
using testing::markup_fault;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> labels_of(const Axis& axis) {
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks) labels.push_back(tick.label);
  return labels;
}
using Labels = std::vector<std::string>;

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// The path of the curve in the first colour: the last match, because the legend uses the colour, too.
std::string path_of(const std::string& svg) {
  const size_t curve = svg.rfind("<path class=\"curve\"");
  const size_t begin = svg.find(" d=\"", curve) + 4;
  return svg.substr(begin, svg.find('"', begin) - begin);
}

TEST(Axis, RoundTicks) {
  EXPECT_EQ(labels_of(make_axis(0, 1, false, 5, true)), (Labels{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(labels_of(make_axis(-3, 17, false, 5, false)), (Labels{"0", "5", "10", "15"}));
  EXPECT_EQ(labels_of(make_axis(0, 20'000, false, 5, false)), (Labels{"0", "5k", "10k", "15k", "20k"}));
  EXPECT_EQ(labels_of(make_axis(0, 9e-5, false, 5, true)),
            (Labels{"0", "2e-5", "4e-5", "6e-5", "8e-5", "1.0e-4"}));
  EXPECT_EQ(labels_of(make_axis(1, 10'000, true, 5, false)), (Labels{"1", "10", "100", "1k", "10k"}));
  EXPECT_EQ(labels_of(make_axis(0.05, 3, true, 5, false)), (Labels{"0.05", "0.1", "0.2", "0.5", "1", "2"}));
  EXPECT_EQ(labels_of(make_axis(1.9, 2.1, true, 5, false)), (Labels{"1.90", "1.95", "2.00", "2.05", "2.10"}));
  const Axis rounded = make_axis(0.13, 0.87, false, 5, true);
  EXPECT_DOUBLE_EQ(rounded.low, 0);
  EXPECT_DOUBLE_EQ(rounded.high, 1);
}

TEST(Axis, PlacesValues) {
  const Axis linear = make_axis(10, 30, false, 5, false);
  EXPECT_DOUBLE_EQ(linear.place(15), 0.25);
  const Axis log = make_axis(1, 10'000, true, 5, false);
  EXPECT_DOUBLE_EQ(log.place(10), 0.25);
}

TEST(Axis, AnyRangeHasAFewTicksInside) {
  const double values[] = {0, 1, -1, 1e-99, 1e99, -1e99, 0.1 + 0.2, 0.3, 1e16, 1e16 + 2, 5e-324, 123456789};
  for (const double low : values) {
    for (const double high : values) {
      for (const bool log : {false, true}) {
        if (!(low <= high) || !drawable(low, log) || !drawable(high, log)) continue;
        for (const bool rounded : {false, true}) {
          const Axis axis = make_axis(low, high, log, 5, rounded);
          EXPECT_LT(axis.low, axis.high) << low << " " << high;
          EXPECT_LE(axis.ticks.size(), 24u);
          EXPECT_GE(axis.ticks.size(), 1u) << low << " " << high << " " << log;
          EXPECT_TRUE(std::isfinite(axis.place(low)) && std::isfinite(axis.place(high)));
          for (const Tick& tick : axis.ticks) {
            EXPECT_GT(axis.place(tick.value), -1e-3) << low << " " << high;
            EXPECT_LT(axis.place(tick.value), 1 + 1e-3) << low << " " << high;
            EXPECT_LT(tick.label.size(), 14u) << tick.label;
          }
        }
      }
    }
  }
}

TEST(LineChart, DrawsCurvesAxesAndLegend) {
  const std::string svg = to_svg(LineChart{
      "Loss", "step", "nats", {{"train", {{0, 1}, {5, 0}, {10, 0.5}}}, {"valid", {{0, 1}, {10, 1}}}}, false});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* text :
       {">Loss<", ">step<", ">nats<", ">train<", ">valid<", ">0.4<", ">10<", "aria-label=\"Loss\""})
    EXPECT_PRED2(contains, svg, text);
  EXPECT_PRED2(contains, svg, "prefers-color-scheme:dark");
  EXPECT_EQ(count_of(svg, "class=\"curve\""), 4u) << "two curves, two legend entries";
}

TEST(LineChart, PlacesPointsCorrectly) {
  const std::string path = path_of(to_svg(LineChart{"", "", "", {{"", {{0, 0}, {5, 5}, {10, 10}}}}, false}));
  double x[3], y[3];
  ASSERT_EQ(std::sscanf(path.c_str(), "M%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0], &x[1], &y[1], &x[2], &y[2]),
            6);
  EXPECT_NEAR(x[1], (x[0] + x[2]) / 2, 0.11);
  EXPECT_NEAR(y[1], (y[0] + y[2]) / 2, 0.11);
  EXPECT_LT(x[0], x[2]);
  EXPECT_GT(y[0], y[2]) << "upwards";
}

TEST(LineChart, LogarithmicXAxis) {
  LineChart chart{"", "", "", {{"", {{100, 0}, {1000, 5}, {10000, 10}}}}, false, true};
  const std::string path = path_of(to_svg(chart));
  double x[3], y[3];
  ASSERT_EQ(std::sscanf(path.c_str(), "M%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0], &x[1], &y[1], &x[2], &y[2]),
            6);
  EXPECT_NEAR(x[1], (x[0] + x[2]) / 2, 0.11);
  EXPECT_PRED2(contains, to_svg(chart), ">1k<");
  chart.curves[0].points = {{1, 1}, {0, 2}, {-1, 3}, {10, 4}};
  EXPECT_EQ(count_of(path_of(to_svg(chart)), "M"), 2u) << "values without a logarithm are gaps";
}

TEST(LineChart, NonFiniteValuesAreGaps) {
  LineChart chart{"Loss",
                  "",
                  "",
                  {{"Loss", {{0, 1}, {1, 2}, {2, kNan}, {3, 1}, {4, -kInfinity}, {5, 1}, {6, 3}}}},
                  false};
  const std::string path = path_of(to_svg(chart));
  EXPECT_EQ(count_of(path, "M"), 3u);
  EXPECT_EQ(count_of(path, "h0"), 1u) << "a single point is a dot";
  chart.log_y = true;
  chart.curves[0].points = {{0, 1}, {1, 0}, {2, 10}, {3, -1}, {4, 100}};
  EXPECT_EQ(count_of(path_of(to_svg(chart)), "M"), 3u);
  for (const double y : {kNan, kInfinity, 1e300}) {
    chart.curves[0].points = {{0, y}};
    EXPECT_PRED2(contains, to_svg(chart), "no data");
  }
  chart.curves.clear();
  EXPECT_PRED2(contains, to_svg(chart), "no data");
  EXPECT_EQ(markup_fault(to_svg(chart)), "");
}

TEST(LineChart, ThinsLongCurvesButKeepsPeaks) {
  LineChart chart{"Loss", "", "", {{"Loss", {}}}, false};
  for (int i = 0; i < 1'000'000; ++i) chart.curves[0].points.push_back({static_cast<double>(i), i % 2 * 0.1});
  chart.curves[0].points[777'777].y = 10;
  const std::string svg = to_svg(chart);
  EXPECT_LT(svg.size(), 30'000u);
  EXPECT_PRED2(contains, path_of(svg), " 38.0L") << "the top of the frame";
}

TEST(LineChart, EscapesText) {
  const std::string hostile = "</text><script>alert('1')</script>\"&\x01\xff";
  const std::string svg =
      to_svg(LineChart{hostile, hostile, hostile, {{hostile, {{0, 1}}}, {hostile, {}}}, true});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count_of(svg, "<script"), 0u);
}

TEST(LineChart, ManyCurvesHaveDistinctStyles) {
  LineChart chart{"", "", "", {}, false};
  for (int i = 0; i < 20; ++i)
    chart.curves.push_back({"curve " + std::to_string(i), {{0, 1.0 * i}, {1, 1.0}}});
  const std::string svg = to_svg(chart);
  EXPECT_EQ(count_of(svg, "var(--c3)\""), 2u) << "solid in one curve and its legend entry";
  EXPECT_EQ(count_of(svg, "var(--c3);stroke-dasharray:6"), 2u);
}

TEST(HeatMap, DrawsCellsShadedByShareOfTheRow) {
  const std::string svg = to_svg(
      HeatMap{"Confusion", "truth", "predicted", {"cat", "dog"}, {"cat", "dog"}, {{75, 25}, {0, 12345}}});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count_of(svg, "class=\"cell\""), 4u);
  EXPECT_PRED2(contains, svg, "fill-opacity=\"1.000\"><title>dog → dog: 12.3k<");
  EXPECT_PRED2(contains, svg, "fill-opacity=\"0.040\"><title>dog → cat: 0<");
  EXPECT_PRED2(contains, svg, "fill-opacity=\"0.520\"><title>cat → dog: 25<") << "0.04 + 0.96 * sqrt(0.25)";
}

TEST(HeatMap, HandlesMissingAndUnusualValues) {
  const std::string hostile = "<b>&\xff</b> and a name that is far too long for the side of a picture";
  const std::string svg = to_svg(HeatMap{
      hostile, hostile, hostile, {hostile, "b"}, {hostile, "c", "d"}, {{kNan, -5}, {}, {1, 2, 3, 4}}});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count_of(svg, "class=\"cell\""), 6u);
  EXPECT_EQ(count_of(svg, "nan"), 0u);
  EXPECT_PRED2(contains, to_svg(HeatMap{}), "no data");
}

TEST(Spectrum, CountsPerBin) {
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) values.push_back(1);
  for (int i = 0; i < 10; ++i) values.push_back(1000);
  values.insert(values.end(), {0, -1, kNan, kInfinity});
  const std::string svg = to_svg(Spectrum{.title = "Layer 1", .x_label = "positions", .values = values});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count_of(svg, "class=\"bar\""), 2u);
  for (const char* text : {">1<", ">10<", ">100<", ">1k<", ">positions<", ">30<"})
    EXPECT_PRED2(contains, svg, text);
  EXPECT_PRED2(contains, svg, "height=\"110.0\"") << "the highest bar reaches the top, at 30";
}

TEST(Spectrum, AxisLimitsAreGivenOrComputed) {
  const std::string svg =
      to_svg(Spectrum{.title = "", .x_label = "", .values = {5, 1e6}, .low = 1, .high = 100});
  EXPECT_PRED2(contains, svg, ">50<");
  EXPECT_EQ(count_of(svg, "class=\"bar\""), 2u) << "values outside are counted at the edge";
  EXPECT_EQ(count_of(to_svg(Spectrum{.title = "", .x_label = "", .values = {7, 7, 7}}), "class=\"bar\""), 1u);
  EXPECT_EQ(count_of(to_svg(Spectrum{.title = "", .x_label = "", .values = {-1, 0, 1}, .log_x = false}),
                     "class=\"bar\""),
            3u);
  EXPECT_PRED2(contains, to_svg(Spectrum{.title = "", .x_label = "", .values = {kNan, -1}}), "no data");
}

}  // namespace
}  // namespace mega
