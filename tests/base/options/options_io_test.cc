#include "mega/base/options/options_io.h"

#include <gtest/gtest.h>

#include "mega/base/version.h"
#include "tests/base/example_options.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::Example;

Example from_toml(std::string_view text) {
  Example options;
  options_from_toml(options, text, "x.toml");
  return options;
}

std::string toml_error(std::string_view text) {
  return error_of([&] { from_toml(text); });
}

std::string json_error(const char* text) {
  Example options;
  return error_of([&] { options_from_json(options, nlohmann::json::parse(text)); });
}

constexpr const char* kEverything = R"(
flag = true
count = 1e2
rate = 1
title = "a \" b"
colour = "green"
sizes = [1, 2, 3]
colours = ["red", "green"]
steps = [{depth = 2}, {depth = 3}, {}]

[inner]
depth = 4

[shape]
kind = "square"
side = 2.5
inner.depth = 6
)";

TEST(OptionsFromToml, ReadsEverything) {
  const Example options = from_toml(kEverything);
  EXPECT_TRUE(options.flag);
  EXPECT_EQ(options.count, 100);
  EXPECT_EQ(options.rate, 1.0);
  EXPECT_EQ(options.title, "a \" b");
  EXPECT_EQ(options.colour, testing::Colour::green);
  EXPECT_EQ(options.sizes, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(options.colours, (std::vector{testing::Colour::red, testing::Colour::green}));
  EXPECT_EQ(options.inner.depth, 4);
  ASSERT_EQ(options.steps.size(), 3u);
  EXPECT_EQ(options.steps[1].depth, 3);
  EXPECT_EQ(options.steps[2].depth, 1) << "missing options keep their default";
  EXPECT_EQ(std::get<testing::Square>(options.shape.shape).side, 2.5);
  EXPECT_EQ(std::get<testing::Square>(options.shape.shape).inner.depth, 6);
}

TEST(OptionsFromToml, ErrorsPointAtTheLine) {
  EXPECT_EQ(toml_error("\ncount = \"a\""), "x.toml:2: count: expected a whole number, 0 to 1000, got \"a\"");
  EXPECT_EQ(toml_error("[inner]\n\ndepth = 11"),
            "x.toml:3: inner.depth: expected a whole number, 0 to 10, got 11");
  EXPECT_EQ(toml_error("[inner]\ndept = 1"),
            "x.toml:2: inner: unknown option \"dept\"; did you mean inner.depth?");
  EXPECT_EQ(toml_error("sizes = [\n1,\n\"b\"]"),
            "x.toml:3: sizes[1]: expected a whole number, 1 to 100, got \"b\"");
  EXPECT_EQ(toml_error("[shape]\nside = 1"),
            "x.toml:2: shape: unknown option \"side\"; there are: kind, radius");
  EXPECT_EQ(toml_error("[shape]\nkind = \"cirle\""),
            "x.toml:2: shape.kind: expected one of circle, square, got \"cirle\"; did you mean circle?");
  EXPECT_PRED2(contains, toml_error("count = 1\ncount = 2"), "x.toml:2: not valid TOML: ");
  EXPECT_PRED2(contains, toml_error("count = "), "x.toml:1: not valid TOML: ");
  EXPECT_PRED2(contains, toml_error("title = 1979-05-27"),
               "x.toml:1: title: dates and times are not supported");
  EXPECT_EQ(toml_error("inner = 3"), "x.toml:1: inner: expected a group of options, got 3");
  EXPECT_EQ(toml_error("sizes = 3"), "x.toml:1: sizes: expected a list, got 3");
  EXPECT_EQ(toml_error("[count]"),
            "x.toml:1: count: expected a whole number, 0 to 1000, got a group of options");
}

TEST(OptionsFromToml, RejectsInvalidNumbers) {
  EXPECT_EQ(toml_error("rate = nan"), "x.toml:1: rate: expected a number, 0 to 1, got nan");
  EXPECT_EQ(toml_error("rate = -inf"), "x.toml:1: rate: expected a number, 0 to 1, got -inf");
  EXPECT_EQ(toml_error("count = nan"), "x.toml:1: count: expected a whole number, 0 to 1000, got nan");
  EXPECT_EQ(toml_error("count = 2.5"), "x.toml:1: count: expected a whole number, 0 to 1000, got 2.5");
  EXPECT_PRED2(contains, toml_error("count = 9223372036854775808"), "x.toml:1: not valid TOML");
}

TEST(OptionsFromJson, RejectsWrongTypes) {
  EXPECT_EQ(json_error(R"({"count": 18446744073709551615})"),
            "count: expected a whole number, 0 to 1000, got 18446744073709551615");
  EXPECT_EQ(json_error(R"({"count": 1e300})"), "count: expected a whole number, 0 to 1000, got 1e+300");
  EXPECT_EQ(json_error(R"({"count": true})"), "count: expected a whole number, 0 to 1000, got true");
  EXPECT_EQ(json_error(R"({"count": null})"), "count: expected a whole number, 0 to 1000, got nothing");
  EXPECT_EQ(json_error(R"({"rate": "0.1"})"), "rate: expected a number, 0 to 1, got \"0.1\"");
  EXPECT_EQ(json_error(R"({"flag": 1})"), "flag: expected true or false, got 1");
  EXPECT_EQ(json_error(R"({"title": 1})"), "title: expected a string, got 1");
  EXPECT_EQ(json_error(R"({"colour": 1})"), "colour: expected one of red, green, got 1");
  EXPECT_EQ(json_error(R"({"shape": {"kind": []}})"),
            "shape.kind: expected one of circle, square, got a list");
  EXPECT_EQ(json_error(R"({"steps": [{}, {"depht": 1}]})"),
            "steps[1]: unknown option \"depht\"; did you mean steps[1].depth?");
  EXPECT_EQ(json_error("[]"), "expected a group of options, got a list");
}

TEST(OptionsFromJson, ChangesNothingOnError) {
  Example options;
  const auto json = nlohmann::json::parse(R"({"count": 5, "inner": {"depth": 2}, "rate": 7})");
  EXPECT_THROW(options_from_json(options, json), Error);
  EXPECT_EQ(options.count, 3);
  EXPECT_EQ(options.inner.depth, 1);
}

TEST(OptionsFromJson, ErrorNamesTheNewerVersion) {
  Example options;
  const auto json = nlohmann::json::parse(R"({"novelty": 5})");
  const std::string error = error_of([&] {
    options_from_json(options, json, {"m.safetensors", {}, "9.1.0"});
  });
  EXPECT_PRED2(contains, error, "m.safetensors: unknown option \"novelty\"");
  EXPECT_PRED2(
      contains, error,
      "it was written by mega 9.1.0, newer than this " + std::string(version()) + ": update to read it");
}

TEST(OptionsToJson, RoundTrips) {
  const Example options = from_toml(kEverything);
  const nlohmann::ordered_json json = options_to_json(options);
  EXPECT_EQ(json["shape"].dump(), R"({"kind":"square","side":2.5,"inner":{"depth":6}})");
  EXPECT_EQ(json.begin().key(), "flag") << "in the order of declaration";
  Example again;
  options_from_json(again, nlohmann::json::parse(json.dump()));
  EXPECT_EQ(options_to_json(again), json);
}

TEST(OptionsToJson, KeepsDoublesExactly) {
  Example options;
  options.rate = 0.1 + 0.2;
  Example again;
  options_from_json(again, nlohmann::json::parse(options_to_json(options).dump()));
  EXPECT_EQ(again.rate, 0.1 + 0.2);
}

}  // namespace
}  // namespace mega
