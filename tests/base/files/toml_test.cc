#include "mega/base/files/toml.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Toml, KeepsTheLineOfEachKey) {
  const TomlDocument document = parse_toml("a = 1\n[b.c]\nd = [2, 3]\n", "x.toml");
  EXPECT_EQ(document.values["b"]["c"]["d"][1], 3);
  EXPECT_EQ(document.lines.at("b.c.d"), 3);
}

TEST(Toml, DeepNestingIsAnErrorWithItsLine) {
  for (const int levels : {40, 30'000, 1'000'000}) {
    const std::string parts = repeated(".a", levels);
    for (const std::string& text : {"[a" + parts + "]\n", "[[a" + parts + "]]\n", "a" + parts + " = 1\n",
                                    "a" + repeated(" . \"a\"", levels) + " = 1\n",
                                    "a = " + repeated("[", levels) + repeated("]", levels) + "\n",
                                    "a = " + repeated("{a=", levels) + "1" + repeated("}", levels) + "\n",
                                    "a = " + repeated("[{a.a=", levels) + "1" + repeated("}]", levels) + "\n",
                                    "a = {b = 1, a" + parts + " = 1}\n"})
      EXPECT_PRED2(contains, error_of([&] { parse_toml("# first\n\n" + text, "x.toml"); }),
                   "x.toml:3: nested deeper than 32 levels")
          << text.substr(0, 20);
  }
}

TEST(Toml, WhatIsAllowedInEachWayIsReadTogether) {
  const std::string key = "a" + repeated(".a", 31);
  const std::string value = repeated("{" + key + "=", 30) + "[1]" + repeated("}", 30);
  EXPECT_NO_THROW(parse_toml("[" + key + "]\n" + key + " = " + value + "\n", "x.toml"));
}

TEST(Toml, StringsAndCommentsHaveNoDepth) {
  const std::string dots = repeated(".", 100), brackets = repeated("[{", 100);
  const std::string text = "# " + dots + brackets + "\n" +                               //
                           "a = \"" + dots + "\\\"" + brackets + "\"\n" +                //
                           "b = '" + dots + brackets + "\\'\n" +                         //
                           "c = \"\"\"\n" + dots + "\n\"\"" + brackets + "\"\"\"\"\n" +  //
                           "d = '''\n''" + brackets + "'''\n" +                          //
                           "e = [" + repeated("1.5, ", 100) + "]\n";
  const TomlDocument document = parse_toml(text, "x.toml");
  EXPECT_EQ(document.values["a"], dots + "\"" + brackets);
  EXPECT_EQ(document.values["b"], dots + brackets + "\\");
  EXPECT_EQ(document.values["c"], dots + "\n\"\"" + brackets + "\"");
  EXPECT_EQ(document.values["d"], "''" + brackets);
  EXPECT_EQ(document.lines.at("e"), 9);
}

// Strings whose end is easily missed.
TEST(Toml, NoStringHidesDepthBehindIt) {
  const std::string deep = "{a" + repeated(".a", 30'000) + " = 1}]\n";
  for (const char* before : {"a = [\"\"\"x\"\"\"\"\", ", "a = [\"\"\"x\"\"\"\", ", "a = ['''x''''', ",
                             "a = [\"\\\"\", ", "a = ['\\', ", "a = [\"\", ", "a = ['', \"\"\"\\\"\"\"\", "})
    EXPECT_PRED2(contains, error_of([&] { parse_toml(before + deep, "x.toml"); }), "nested deeper") << before;
}

}  // namespace
}  // namespace mega
