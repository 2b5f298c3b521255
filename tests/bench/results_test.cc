// Tables of benchmarks as Markdown, CSV and JSON, and their charts.
#include "bench/results.h"

#include <gtest/gtest.h>

#include <limits>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::bench {
namespace {

using testing::contains;
using testing::error_of;

ResultTable example() {
  ResultTable table({{"system", "system"}, {"step", "seconds"}, {"", "hidden"}, {"shown", ""}});
  table.add({text_cell("mega, full"), seconds_cell(0.25), count_cell(1234), ratio_cell(2.0)});
  table.add({text_cell("other"), seconds_cell(std::numeric_limits<double>::quiet_NaN()), count_cell(1), {}});
  return table;
}

TEST(Results, EachFormHasItsColumns) {
  const ResultTable table = example();
  EXPECT_PRED2(contains, table.markdown(), "2.00×");
  EXPECT_FALSE(contains(table.markdown(), "1,234")) << "left out of the Markdown";
  EXPECT_EQ(table.csv(), "system,seconds,hidden\n\"mega, full\",0.25,1234\nother,,1\n");
  EXPECT_EQ(table.json().dump(), R"([{"system":"mega, full","seconds":0.25,"hidden":1234},)"
                                 R"({"system":"other","seconds":null,"hidden":1}])");
}

TEST(Results, ARowHasACellForEachColumn) {
  ResultTable table({{"a", "a"}, {"b", "b"}});
  EXPECT_PRED2(contains, error_of([&] { table.add({text_cell("alone")}); }), "1 cells");
}

TEST(Results, UnknownRatiosAreEmpty) {
  for (const double ratio : {0.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(ratio_cell(ratio).text, "");
    EXPECT_TRUE(ratio_cell(ratio).value.is_null());
  }
  EXPECT_TRUE(quoted_ratio("").value.is_null());
  EXPECT_EQ(quoted_ratio("0.10").text, "0.10×");
  EXPECT_EQ(quoted_ratio("0.10").value, 0.1);
}

TEST(Results, OneTableIsAListSeveralAnObject) {
  Results results{{{"rows", example()}}, {}};
  EXPECT_EQ(results.json().front(), '[');
  results.tables.emplace_back("exponents", example());
  EXPECT_PRED2(contains, results.json(), "\"exponents\": [");
  EXPECT_EQ(results.csv(), example().csv());
}

TEST(Results, ChartsBecomeFiles) {
  const testing::ScratchFolder folder;
  Results results{{{"rows", example()}}, {}};
  LineChart chart;
  chart.title = "Time";
  chart.curves = {{"mega", {{1, 1}, {2, 2}}}};
  results.charts.emplace_back("time", chart);
  results.write_charts((folder / "new").string());
  EXPECT_PRED2(contains, read_file(folder.path() / "new" / "time.svg"), "<svg");
  write_file(folder / "file", "");
  EXPECT_PRED2(contains, error_of([&] { results.write_charts((folder / "file").string()); }), "folder");
}

}  // namespace
}  // namespace mega::bench
