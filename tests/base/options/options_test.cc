#include "mega/base/options/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/base/example_options.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::Example;

TEST(Enums, NamesRoundTrip) {
  EXPECT_EQ(to_string(testing::Colour::green), "green");
  EXPECT_EQ(parse_enum<testing::Colour>("red"), testing::Colour::red);
  EXPECT_EQ(error_of([] { parse_enum<testing::Colour>("blue"); }),
            "expected one of red, green, got \"blue\"");
}

TEST(SetOption, ReadsEachType) {
  Example options;
  set_option(options, "flag=true");
  set_option(options, "count=7");
  set_option(options, "rate = 1e-3");
  set_option(options, "title=a = b");
  set_option(options, "colour=green");
  set_option(options, "sizes=1, 2,3");
  set_option(options, "colours=[green]");
  set_option(options, "inner.depth=9");
  EXPECT_TRUE(options.flag);
  EXPECT_EQ(options.count, 7);
  EXPECT_EQ(options.rate, 1e-3);
  EXPECT_EQ(options.title, "a = b");
  EXPECT_EQ(options.colour, testing::Colour::green);
  EXPECT_EQ(options.sizes, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(options.colours, std::vector{testing::Colour::green});
  EXPECT_EQ(options.inner.depth, 9);
  set_option(options, "sizes=");
  EXPECT_TRUE(options.sizes.empty());
  set_option(options, "count=1e2");
  EXPECT_EQ(options.count, 100);
  set_option(options, "title=");
  EXPECT_EQ(options.title, "");
}

TEST(SetOption, SwitchesTheKindOfAVariant) {
  Example options;
  set_option(options, "shape.radius=5");
  set_option(options, "shape.kind=circle");
  EXPECT_EQ(std::get<testing::Circle>(options.shape.shape).radius, 5) << "the same kind keeps its fields";
  set_option(options, "shape.kind=square");
  set_option(options, "shape.side=3");
  EXPECT_EQ(std::get<testing::Square>(options.shape.shape).side, 3);
  EXPECT_PRED2(contains, error_of([&] { set_option(options, "shape.radius=5"); }),
               "unknown option \"radius\"");
  EXPECT_PRED2(contains, error_of([&] { set_option(options, "shape.kind=squar"); }), "did you mean square?");
}

TEST(SetOption, ErrorsSayWhatWasExpected) {
  Example options;
  const auto error = [&](const char* assignment) {
    return error_of([&] { set_option(options, assignment); });
  };
  EXPECT_EQ(error("count=a"), "count: expected a whole number, 0 to 1000, got \"a\"");
  EXPECT_EQ(error("count=1.5"), "count: expected a whole number, 0 to 1000, got 1.5");
  EXPECT_EQ(error("count=1001"), "count: expected a whole number, 0 to 1000, got 1001");
  EXPECT_EQ(error("count=99999999999999999999"), "count: expected a whole number, 0 to 1000, got 1e+20");
  EXPECT_EQ(error("count="), "count: expected a whole number, 0 to 1000, got \"\"");
  EXPECT_EQ(error("rate=nan"), "rate: expected a number, 0 to 1, got nan");
  EXPECT_EQ(error("rate=inf"), "rate: expected a number, 0 to 1, got inf");
  EXPECT_EQ(error("rate=1e999"), "rate: expected a number, 0 to 1, got \"1e999\"");
  EXPECT_EQ(error("flag=yes"), "flag: expected true or false, got \"yes\"");
  EXPECT_EQ(error("colour=gren"), "colour: expected one of red, green, got \"gren\"; did you mean green?");
  EXPECT_EQ(error("sizes=1,x"), "sizes[1]: expected a whole number, 1 to 100, got \"x\"");
  EXPECT_EQ(error("sizes=1,101"), "sizes[1]: expected a whole number, 1 to 100, got 101");
  EXPECT_EQ(error("conut=1"), "unknown option \"conut\"; did you mean count?");
  EXPECT_EQ(error("inner.dept=1"), "inner: unknown option \"dept\"; did you mean inner.depth?");
  EXPECT_EQ(error("depth=1"), "unknown option \"depth\"; did you mean inner.depth?");
  EXPECT_EQ(error("inner=1"), "inner: is a group of options; set one of depth");
  EXPECT_EQ(error("count.depth=1"), "count: is a whole number, 0 to 1000; it has no option \"depth\"");
  EXPECT_PRED2(contains, error("xyzzy.plugh=1"), "unknown option \"xyzzy\"; there are: flag, count,");
  for (const char* text : {"count", "=1", "", "."}) EXPECT_NE(error(text), "") << text;
  EXPECT_EQ(options.count, Example().count) << "unchanged after an error";
}

TEST(CheckRanges, ChecksOptionsSetInCode) {
  Example options;
  EXPECT_NO_THROW(check_ranges(options));
  options.rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of([&] { check_ranges(options, "here"); }),
            "here: rate: expected a number, 0 to 1, got nan");
  options.rate = 0;
  options.sizes = {5, 0};
  EXPECT_PRED2(contains, error_of([&] { check_ranges(options); }), "sizes[1]: expected");
  options.sizes = {};
  options.steps.resize(2);
  options.steps[1].depth = -1;
  EXPECT_PRED2(contains, error_of([&] { check_ranges(options); }), "steps[1].depth: expected");
}

TEST(OptionRows, DescribeEachOption) {
  Example options;
  set_option(options, "count=7");
  set_option(options, "shape.kind=square");
  set_option(options, "shape.side=4");
  const std::vector<OptionRow> rows = option_rows(options);
  const auto row = [&](const std::string& key) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const OptionRow& r) { return r.key == key; });
    return found == rows.end() ? OptionRow{} : *found;
  };
  EXPECT_EQ(row("count").type, "a whole number, 0 to 1000");
  EXPECT_EQ(row("count").default_value, "3");
  EXPECT_EQ(row("count").value, "7");
  EXPECT_EQ(row("count").help, "how many");
  EXPECT_EQ(row("rate").value, "0.1");
  EXPECT_EQ(row("shape.kind").default_value, "circle");
  EXPECT_EQ(row("shape.kind").value, "square");
  EXPECT_EQ(row("shape.side").default_value, "2");
  EXPECT_EQ(row("shape.side").value, "4");
  EXPECT_EQ(row("shape.radius").key, "");
  EXPECT_EQ(row("sizes").value, "10,20");
  EXPECT_EQ(row("inner.depth").value, "1");
}

TEST(Options, AnOldNameStillWorksAndIsNoted) {
  Example options;
  ::testing::internal::CaptureStderr();
  set_option(options, "inner.levels=7");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "note: the option inner.levels is now called inner.depth\n");
  EXPECT_EQ(options.inner.depth, 7);
  EXPECT_PRED2(contains, error_of([&] { set_option(options, "inner.levels=70"); }), "inner.levels: expected");
  for (const OptionRow& row : option_rows(options)) EXPECT_NE(row.key, "inner.levels");
}

}  // namespace
}  // namespace mega
