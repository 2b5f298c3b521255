#include "mega/infer/generation/text_output.h"

#include <gtest/gtest.h>

#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "tests/base/helpers.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;

struct Printed {
  std::vector<std::string> pieces;
  bool stopped = false;

  std::string text() const { return join(pieces, ""); }
};

// Splits the text: bit i of `cuts` is a cut before byte i + 1.
Printed print(std::string_view text, uint64_t cuts, const std::vector<std::string>& stops = {}) {
  TextOutput output(stops);
  Printed printed;
  size_t begin = 0;
  for (size_t end = 1; end <= text.size(); ++end) {
    if (end < text.size() && (cuts >> (end - 1) & 1) == 0) continue;
    printed.pieces.push_back(output.add(text.substr(begin, end - begin)));
    begin = end;
  }
  printed.pieces.push_back(output.finish());
  printed.stopped = output.stopped();
  return printed;
}

template <class Check>
void for_all_cuts(std::string_view text, const std::vector<std::string>& stops, Check check) {
  ASSERT_LE(text.size(), 14u) << "too many cuts to try";
  for (uint64_t cuts = 0; cuts < uint64_t{1} << (text.size() - 1); ++cuts) {
    SCOPED_TRACE(cuts);
    check(print(text, cuts, stops));
  }
}

TEST(TextOutput, PiecesOfValidTextAreValid) {
  for_all_cuts("a\u00e9\u20ac\U0001F600z\u07ff", {}, [](const Printed& printed) {
    EXPECT_EQ(printed.text(), "a\u00e9\u20ac\U0001F600z\u07ff");
    for (const std::string& piece : printed.pieces) EXPECT_EQ(valid_utf8(piece), piece);
  });
}

TEST(TextOutput, PrintsImmediatelyIfPossible) {
  TextOutput output;
  EXPECT_EQ(output.add("ab\xE2\x82"), "ab");
  EXPECT_EQ(output.add("\xAC"), "\u20ac");
  EXPECT_EQ(output.add("c"), "c");
  EXPECT_EQ(output.finish(), "");
}

TEST(TextOutput, InvalidBytesPassUnchanged) {
  for (const std::string text :
       {"\x80\xBF\x41", "\xC3(\xC3\xA9\xC3", "\xE0\x80\x80x", "\xED\xA0\x80", "\xF4\x90\x80\x80",
        "\xF0\x9F\x98", "\xFF\xFE\xC0\xC1\xF5z", "\xF0\x9F\xF0\x9F\x98\x80\xE2\x82"}) {
    for_all_cuts(text, {}, [&](const Printed& printed) { EXPECT_EQ(printed.text(), text); });
  }
}

TEST(TextOutput, PassesBytesAsSoonAsTheyAreInvalid) {
  TextOutput output;
  EXPECT_EQ(output.add("\xE0"), "");
  EXPECT_EQ(output.add("\x80"), "\xE0\x80");      // overlong
  EXPECT_EQ(output.add("\xED\xA0"), "\xED\xA0");  // a surrogate
  EXPECT_EQ(output.add("\xF4\x90"), "\xF4\x90");  // beyond U+10FFFF
  EXPECT_EQ(output.add("\xC0"), "\xC0");
  EXPECT_EQ(output.add("\xF0\x9F\x98"), "");
  EXPECT_EQ(output.add("x"), "\xF0\x9F\x98x");
  EXPECT_EQ(output.add("\xC3"), "");
  EXPECT_EQ(output.finish(), "\xC3");
}

TEST(TextOutput, StopsBeforeAStopString) {
  for_all_cuts("one END two", {"END"}, [](const Printed& printed) {
    EXPECT_EQ(printed.text(), "one ");
    EXPECT_TRUE(printed.stopped);
  });
  for_all_cuts("one EN two EN", {"END"}, [](const Printed& printed) {
    EXPECT_EQ(printed.text(), "one EN two EN");
    EXPECT_FALSE(printed.stopped);
  });
}

TEST(TextOutput, FindsStopStringsThatOverlapThemselves) {
  for_all_cuts("xaabaabaaab", {"aabaaa"}, [](const Printed& printed) { EXPECT_EQ(printed.text(), "xaab"); });
  for_all_cuts("aaaaab", {"aab"}, [](const Printed& printed) { EXPECT_EQ(printed.text(), "aaa"); });
}

TEST(TextOutput, FirstCompleteStopStringWins) {
  for_all_cuts("xabcd", {"abcd", "bc"}, [](const Printed& printed) { EXPECT_EQ(printed.text(), "xa"); });
  for_all_cuts("xabcd", {"cd", "abcd", "d"}, [](const Printed& printed) { EXPECT_EQ(printed.text(), "x"); });
  for_all_cuts("a\n\nb\n", {"\n", "\n\n"}, [](const Printed& printed) { EXPECT_EQ(printed.text(), "a"); });
}

TEST(TextOutput, StopStringsMaySplitCharacters) {
  for_all_cuts("a\u20acb\u20ac", {"\u20ac"}, [](const Printed& printed) { EXPECT_EQ(printed.text(), "a"); });
  // A stop string that begins inside a character: it splits the character where it occurs; elsewhere pieces
  // are whole characters.
  for_all_cuts("\u00e9x\u00e9y.", {"\xA9y"}, [](const Printed& printed) {
    EXPECT_EQ(printed.text(), "\u00e9x\xC3");
    EXPECT_TRUE(printed.stopped);
  });
  for_all_cuts("\u00e9x\u00e9.", {"\xA9y"}, [](const Printed& printed) {
    EXPECT_EQ(printed.text(), "\u00e9x\u00e9.");
    for (const std::string& piece : printed.pieces) EXPECT_EQ(valid_utf8(piece), piece);
  });
}

TEST(TextOutput, NoOutputAfterAStop) {
  const std::vector<std::string> stops = {"."};
  TextOutput output(stops);
  EXPECT_EQ(output.add("a."), "a");
  EXPECT_TRUE(output.stopped());
  EXPECT_EQ(output.add("b"), "");
  EXPECT_EQ(output.finish(), "");
}

TEST(TextOutput, HoldsBackNoMoreThanNeeded) {
  const std::vector<std::string> stops = {"<end>", "<stop>"};
  TextOutput output(stops);
  EXPECT_EQ(output.add("a<"), "a");
  EXPECT_EQ(output.add(""), "");
  EXPECT_EQ(output.add("st"), "");
  EXPECT_EQ(output.add("<e"), "<st");
  EXPECT_EQ(output.add("x"), "<ex");
}

TEST(TextOutput, LongStopStringsTakeLinearTime) {
  const std::vector<std::string> stops = {std::string(1 << 20, 'a') + "b"};
  TextOutput output(stops);
  size_t given = 0;
  for (int i = 0; i < 64; ++i) given += output.add(std::string(1 << 16, 'a')).size();
  EXPECT_EQ(given, 3u << 20);
  EXPECT_EQ(output.add("b"), "");
  EXPECT_TRUE(output.stopped());
}

TEST(TextOutput, TracksLineBeginnings) {
  TextOutput output;
  EXPECT_TRUE(output.begins_line());
  output.add("a\nb");
  EXPECT_FALSE(output.begins_line());
  output.add("\n");
  EXPECT_TRUE(output.begins_line());
  output.add("");
  EXPECT_TRUE(output.begins_line());
  EXPECT_FALSE(TextOutput({}, false).begins_line());
  // Also if the newline is held back.
  const std::vector<std::string> stops = {"\n\n"};
  TextOutput stopping(stops);
  EXPECT_EQ(stopping.add("a\n"), "a");
  EXPECT_TRUE(stopping.begins_line());
}

TEST(TextOutput, EmptyStopStringIsAnError) {
  const std::vector<std::string> stops = {"a", ""};
  EXPECT_PRED2(contains, error_of([&] { TextOutput output(stops); }), "a stop string is empty");
}

}  // namespace
}  // namespace mega::infer
