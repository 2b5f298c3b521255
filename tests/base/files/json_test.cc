#include "mega/base/files/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

TEST(Json, ParsesValidText) {
  const nlohmann::json json = parse_json(R"({"a": [1, 2.5, "x"], "b": {"a": null}} )", "here");
  EXPECT_EQ(json["a"][1], 2.5);
  EXPECT_TRUE(json["b"]["a"].is_null());
}

TEST(Json, RejectsDuplicateKeys) {
  EXPECT_EQ(error_of([] { parse_json(R"({"a": 1, "b": {}, "a": 2})", "here"); }),
            "here: key \"a\" appears twice");
  EXPECT_NO_THROW(parse_json(R"([{"a": 1}, {"a": 2}])", "here"));
}

TEST(Json, RejectsTooManyLevelsAndValues) {
  const std::string deep = std::string(1'000'000, '[');
  EXPECT_PRED2(contains, error_of([&] { parse_json(deep, "here"); }), "deeper than 32");
  std::string wide = "[0";
  for (int i = 0; i < 1000; ++i) wide += ",0";
  wide += "]";
  EXPECT_NO_THROW(parse_json(wide, "here"));
  EXPECT_PRED2(contains, error_of([&] { parse_json(wide, "here", {.values = 1000}); }), "more than 1000");
}

TEST(Json, ReportsWhereTextIsInvalid) {
  EXPECT_PRED2(contains, error_of([] { parse_json("{\"a\": }", "here"); }),
               "here: not valid JSON: parse error at line 1");
  for (const char* text : {"", "{", "nul", "{} {}", "\"\xff\"", "1e999", "[1,]", "NaN"})
    EXPECT_PRED2(contains, error_of([&] { parse_json(text, "here"); }), "not valid JSON") << text;
}

TEST(JsonText, HoldsAnyText) {
  EXPECT_EQ(json_text(nlohmann::json{{"key", "Größe \x1b[31m \xff"}}),
            "{\"key\":\"Größe \\u001b[31m \uFFFD\"}");
  // DEL, NEL and CSI, which a terminal may obey, also in keys; U+00A0 is an ordinary character.
  const nlohmann::ordered_json odd = {{"\u009b", "\x7f\u0085\u00a0"}};
  EXPECT_EQ(json_text(odd), "{\"\\u009b\":\"\\u007f\\u0085\u00a0\"}");
  EXPECT_EQ(parse_json(json_text(odd), "here"), nlohmann::json(odd));
  EXPECT_EQ(json_text(nlohmann::json{1, 2}, 1), "[\n 1,\n 2\n]");
}

}  // namespace
}  // namespace mega
