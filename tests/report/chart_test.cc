#include "mega/report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
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
  EXPECT_EQ(count_of(svg, "class=\"curve\" style=\"stroke:var(--c3)\""), 2u)
      << "solid in one curve and its legend entry";
  EXPECT_EQ(count_of(svg, "var(--c3);stroke-dasharray:6"), 2u);
}

LineChart chart_of(size_t points) {
  LineChart chart{"Loss", "update", "", {{"Loss", {}}}, false};
  for (size_t i = 0; i < points; ++i)
    chart.curves[0].points.push_back({static_cast<double>(i), static_cast<double>(i % 3)});
  return chart;
}

TEST(LineChart, FewPointsHaveMarkers) {
  EXPECT_EQ(count_of(to_svg(chart_of(1)), "class=\"dot\""), 1u);
  EXPECT_EQ(count_of(to_svg(chart_of(39)), "class=\"dot\""), 39u);
  EXPECT_EQ(count_of(to_svg(chart_of(40)), "class=\"dot\""), 0u);
  EXPECT_EQ(markup_fault(to_svg(chart_of(39))), "");
  EXPECT_PRED2(contains, to_svg(chart_of(2)), "<title>update 1: 1</title>");

  LineChart two = chart_of(1000);
  two.curves.push_back({"validation", {{500, 1}}});
  EXPECT_EQ(count_of(to_svg(two), "class=\"dot\""), 2u) << "the point and its legend entry";
}

TEST(LineChart, SinglePointsBetweenGapsHaveMarkers) {
  LineChart chart = chart_of(100);
  chart.curves[0].points[50].y = chart.curves[0].points[52].y = kNan;
  chart.curves[0].points[98].y = kNan;
  EXPECT_EQ(count_of(to_svg(chart), "class=\"dot\""), 2u);
  for (size_t i = 0; i < 100; i += 2) chart.curves[0].points[i].x = kInfinity;
  EXPECT_EQ(count_of(to_svg(chart), "class=\"dot\""), 50u) << "every second point";
  LineChart many = chart_of(10'000);
  for (size_t i = 0; i < 10'000; i += 2) many.curves[0].points[i].y = kNan;
  EXPECT_LE(count_of(to_svg(many), "class=\"dot\""), 400u);
}

// The path of the only error bar.
std::string bar_of(const std::string& svg) {
  const size_t begin = svg.find(" d=\"", svg.find("<path class=\"error\"")) + 4;
  return svg.substr(begin, svg.find('"', begin) - begin);
}

TEST(LineChart, ErrorBarsHaveCaps) {
  LineChart chart{"", "chunk", "", {{"", {{0, 1}, {1, 3}, {2, 2}}, {0, 1, 0.5}}}, false};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count_of(svg, "class=\"error\""), 2u) << "an error of 0 has no bar";
  EXPECT_PRED2(contains, svg, "<title>chunk 1: 3 ± 1</title>");
  EXPECT_PRED2(contains, svg, ">4<") << "the axis has room for the bar";
  double x, top, bottom, left[2], right[2], y[2];
  ASSERT_EQ(std::sscanf(bar_of(svg).c_str(), "M%lf %lfV%lfM%lf %lfH%lfM%lf %lfH%lf", &x, &top, &bottom,
                        &left[0], &y[0], &right[0], &left[1], &y[1], &right[1]),
            9);
  EXPECT_EQ(y[0], top);
  EXPECT_EQ(y[1], bottom);
  EXPECT_NEAR(left[0] + right[0], 2 * x, 0.21);
  Point first, second;
  ASSERT_EQ(std::sscanf(path_of(svg).c_str(), "M%lf %lfL%lf %lf", &first.x, &first.y, &second.x, &second.y),
            4);
  EXPECT_NEAR((top + bottom) / 2, second.y, 0.21) << "centred on the point";
}

TEST(LineChart, UnusualErrors) {
  LineChart chart{"", "", "", {{"", {{0, 1}, {1, kNan}, {2, 2}, {3, 1}}}}, false};
  for (const double error : {-1.0, 0.0, kNan, kInfinity, 1e200}) {
    chart.curves[0].errors = {error, 1};
    EXPECT_EQ(count_of(to_svg(chart), "class=\"error\""), 0u) << error << ", and a point that is a gap";
  }
  chart.curves[0].errors = {kNan, kNan, 1, 1, 5, 6, 7};
  EXPECT_EQ(count_of(to_svg(chart), "class=\"error\""), 2u) << "more errors than points";
  chart.log_y = true;
  chart.curves[0].errors = {2};
  EXPECT_EQ(count_of(bar_of(to_svg(chart)), "H"), 1u) << "open where a logarithmic axis ends";
  LineChart many = chart_of(50);
  many.curves[0].errors.assign(50, 1);
  EXPECT_EQ(count_of(to_svg(many), "class=\"error\""), 0u);
}

// Some image viewers ignore variables of CSS.
TEST(LineChart, ColoursDoNotNeedVariables) {
  const std::string svg = to_svg(LineChart{"", "", "", {{"a", {{0, 1}}, {1}}, {"b", {{0, 2}}}}, false});
  for (const char* part :
       {"style=\"stroke:var(--c0)\" stroke=\"#0072b2\"", "style=\"fill:var(--c1)\" fill=\"#d55e00\"",
        "class=\"error\" style=\"stroke:var(--c0)\" stroke=\"#0072b2\"", "stroke:#e3e6ea;stroke:var(--grid)"})
    EXPECT_PRED2(contains, svg, part);
}

TEST(LineChart, LongTitlesAreShortened) {
  EXPECT_LT(to_svg(LineChart{std::string(1'000'000, 'x'), "", "", {{"", {{0, 1}}}}, false}).size(), 10'000u);
}

// The centres of the points of a scatter chart.
std::vector<Point> centres_of(const std::string& svg) {
  std::vector<Point> centres;
  const size_t begin = svg.find("<g class=\"points\"");
  for (size_t at = svg.find("<circle", begin); at != std::string::npos; at = svg.find("<circle", at + 1)) {
    Point& centre = centres.emplace_back();
    EXPECT_EQ(std::sscanf(svg.c_str() + at, "<circle cx=\"%lf\" cy=\"%lf\"", &centre.x, &centre.y), 2);
  }
  return centres;
}

TEST(ScatterChart, EqualAxesAndADiagonal) {
  const std::string svg = to_svg(ScatterChart{"age", "true", "predicted", {{0, 0}, {10, 10}, {4, 8}}});
  EXPECT_EQ(markup_fault(svg), "");
  for (const char* text :
       {">age<", ">true<", ">predicted<", "class=\"diagonal\"", ">dashed: prediction = truth<"})
    EXPECT_PRED2(contains, svg, text);
  EXPECT_EQ(count_of(svg, ">4<"), 2u) << "the same ticks on both axes";
  const std::vector<Point> centres = centres_of(svg);
  ASSERT_EQ(centres.size(), 3u);
  EXPECT_NEAR(centres[1].x - centres[0].x, centres[0].y - centres[1].y, 0.21) << "a square";
  EXPECT_NEAR(centres[2].x, centres[0].x + 0.4 * (centres[1].x - centres[0].x), 0.21);
  EXPECT_NEAR(centres[2].y, centres[0].y + 0.8 * (centres[1].y - centres[0].y), 0.21);
  double corners[4];
  const size_t diagonal = svg.find(" d=\"", svg.find("<path class=\"diagonal\""));
  ASSERT_EQ(std::sscanf(svg.c_str() + diagonal, " d=\"M%lf %lfL%lf %lf", &corners[0], &corners[1],
                        &corners[2], &corners[3]),
            4);
  EXPECT_NEAR(corners[0], centres[0].x, 0.11);
  EXPECT_NEAR(corners[3], centres[1].y, 0.11);
}

TEST(ScatterChart, ThinsManyPointsButKeepsTheFarthest) {
  ScatterChart chart{"", "", "", {}};
  for (int i = 0; i < 2000; ++i) chart.points.push_back({1.0 * i, 1.0 * i});
  EXPECT_EQ(centres_of(to_svg(chart)).size(), 2000u);
  EXPECT_EQ(count_of(to_svg(chart), " points<"), 0u);
  for (int i = 2000; i < 100'000; ++i) chart.points.push_back({i % 2000 * 1.0, i % 2000 + i % 2 * 1.0});
  chart.points[77'777] = {0, 2000};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(centres_of(svg).size(), 2000u);
  EXPECT_LT(svg.size(), 120'000u);
  EXPECT_PRED2(contains, svg, "2,000 of 100,000 points");
  EXPECT_EQ(svg, to_svg(chart)) << "the same each time";
  const auto is_outlier = [](const Point& centre) { return centre.y < 70 && centre.x < 60; };
  const std::vector<Point> centres = centres_of(svg);
  EXPECT_EQ(std::count_if(centres.begin(), centres.end(), is_outlier), 1);
  const auto left = std::count_if(centres.begin(), centres.end(), [](const Point& c) { return c.x < 212; });
  EXPECT_NEAR(static_cast<double>(left), 1000, 150) << "a sample of all, not of their beginning";
}

TEST(ScatterChart, UnusualPoints) {
  const std::string hostile = "</text><script>alert('1')</script>\"&\x01\xff";
  const std::string svg =
      to_svg(ScatterChart{hostile, hostile, hostile, {{kNan, 1}, {1, kInfinity}, {1e300, 1}, {5, 5}}});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count_of(svg, "<script"), 0u);
  EXPECT_EQ(centres_of(svg).size(), 1u);
  EXPECT_PRED2(contains, to_svg(ScatterChart{"", "", "", {{kNan, 1}}}), "no data");
  EXPECT_PRED2(contains, to_svg(ScatterChart{}), "no data");
  EXPECT_EQ(markup_fault(to_svg(ScatterChart{"", "", "", {{-1e99, 1e99}, {0, 0}}})), "");
}

TEST(Sparkline, DrawsEachChannelInItsOwnRange) {
  const std::string svg = to_svg(Sparkline{{{0, 1, 0.5F}, {-1000, 500, 1000}}});
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(count_of(svg, "<path "), 2u);
  EXPECT_PRED2(contains, svg, "aria-label=\"from 0 to 1.00; from -1.00k to 1.00k\"");
  EXPECT_PRED2(contains, svg, "d=\"M3.0 27.0L90.0 3.0L177.0 15.0\"");
  EXPECT_PRED2(contains, svg, "d=\"M3.0 57.0L90.0 39.0L177.0 33.0\"");
  EXPECT_PRED2(contains, svg, "height=\"60.0\"");
}

TEST(Sparkline, UnusualValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_svg(Sparkline{}), "");
  EXPECT_EQ(to_svg(Sparkline{{{}, {nan, nan}}}), "");
  EXPECT_EQ(count_of(to_svg(Sparkline{{{1, 2, nan, 3, 4}}}), "M"), 2u);
  EXPECT_PRED2(contains, to_svg(Sparkline{{{0}}}), "from 0 to 0");
  EXPECT_PRED2(contains, to_svg(Sparkline{{{7, 7, 7}}}), "15.0L90.0 15.0") << "a flat line in the middle";
  EXPECT_EQ(count_of(to_svg(Sparkline{{10, {1, 2}}}), "<path "), 4u);
  std::vector<float> half_missing(1'000'000, 1);
  for (size_t i = 0; i < half_missing.size(); i += 2) half_missing[i] = nan;
  half_missing[333'333] = 9;
  const std::string svg = to_svg(Sparkline{{half_missing}});
  EXPECT_LT(svg.size(), 5'000u);
  EXPECT_PRED2(contains, svg, "from 1.00 to 9.00");
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
