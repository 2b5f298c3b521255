#include "cli/terminal/edited_line.h"

#include <gtest/gtest.h>

#include <random>

#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega::cli {
namespace {

// The text with a bar for the cursor.
std::string with_cursor(const EditedLine& line) {
  std::string text = line.text();
  return text.insert(line.cursor(), "|");
}

std::string after(const std::string& text, const std::vector<Key>& keys) {
  EditedLine line;
  line.insert(text);
  for (const Key key : keys) line.apply(key);
  return with_cursor(line);
}

TEST(EditedLine, MovesAndDeletes) {
  EXPECT_EQ(after("abc", {}), "abc|");
  EXPECT_EQ(after("abc", {Key::left}), "ab|c");
  EXPECT_EQ(after("abc", {Key::right}), "abc|");
  EXPECT_EQ(after("abc", {Key::line_start, Key::left}), "|abc");
  EXPECT_EQ(after("abc", {Key::line_start, Key::right, Key::delete_left}), "|bc");
  EXPECT_EQ(after("abc", {Key::line_start, Key::delete_left}), "|abc");
  EXPECT_EQ(after("abc", {Key::line_start, Key::delete_right}), "|bc");
  EXPECT_EQ(after("abc", {Key::left, Key::left, Key::end_of_input}), "a|c");
  EXPECT_EQ(after("", {Key::delete_left, Key::delete_right, Key::cut_to_end, Key::put_back}), "|");
}

TEST(EditedLine, Words) {
  EXPECT_EQ(after("one two  ", {Key::word_left}), "one |two  ");
  EXPECT_EQ(after("one two", {Key::line_start, Key::word_right}), "one| two");
  EXPECT_EQ(after("one two", {Key::cut_word_left, Key::line_start, Key::put_back}), "two|one ");
  EXPECT_EQ(after("one two", {Key::line_start, Key::cut_word_right}), "| two");
  EXPECT_EQ(after("one two", {Key::word_left, Key::cut_to_start, Key::line_end, Key::put_back}), "twoone |");
  EXPECT_EQ(after("one two", {Key::word_left, Key::cut_to_end}), "one |");
  // Nothing to cut: what was cut before is still there.
  EXPECT_EQ(after("one", {Key::cut_to_start, Key::cut_to_start, Key::put_back, Key::put_back}), "oneone|");
}

TEST(EditedLine, WholeCharacters) {
  EXPECT_EQ(after("a\u4e16\u00e9", {Key::delete_left}), "a\u4e16|");
  EXPECT_EQ(after("a\u4e16\u00e9", {Key::left, Key::left}), "a|\u4e16\u00e9");
  // A letter and its combining mark are one.
  EXPECT_EQ(after("xe\u0301", {Key::left}), "x|e\u0301");
  EXPECT_EQ(after("xe\u0301y", {Key::left, Key::delete_left}), "x|y");
  EXPECT_EQ(after("e\u0301y", {Key::line_start, Key::delete_right}), "|y");
}

TEST(EditedLine, TheViewFollowsTheCursor) {
  EditedLine line;
  line.insert("short");
  EXPECT_EQ(view_of(line, 20).text, "short");
  EXPECT_EQ(view_of(line, 20).cursor, 5);
  line.set("line one\nline\ttwo");
  EXPECT_EQ(view_of(line, 40).text, "line one\u21b5line two");

  std::string digits;
  for (int i = 0; i < 100; ++i) digits += static_cast<char>('0' + i % 10);
  line.set(digits);
  EXPECT_EQ(view_of(line, 20).text, "0123456789");  // from 90 on
  EXPECT_EQ(view_of(line, 20).cursor, 10);
  line.apply(Key::line_start);
  EXPECT_EQ(view_of(line, 20).text, digits.substr(0, 19));
  EXPECT_EQ(view_of(line, 20).cursor, 0);
}

// Whatever is done, in any width: valid text, a cursor between characters, a view that fits and shows it.
TEST(EditedLine, RandomKeys) {
  std::mt19937 random(1);
  const std::vector<std::string> pieces = {"a",          "bc ", "\u4e16\u754c", "e\u0301",
                                           "\U0001f600", "\n",  "\t",           "\u0301"};
  for (int round = 0; round < 100; ++round) {
    EditedLine line;
    for (int i = 0; i < 100; ++i) {
      if (random() % 2 == 0)
        line.insert(pieces[random() % pieces.size()]);
      else
        line.apply(static_cast<Key>(random() % (static_cast<int>(Key::suspend) + 1)));
      ASSERT_EQ(valid_utf8(line.text()), line.text());
      ASSERT_LE(line.cursor(), line.text().size());
      ASSERT_EQ(valid_utf8(line.text().substr(0, line.cursor())), line.text().substr(0, line.cursor()));
      const auto columns = static_cast<int64_t>(8 + random() % 60);
      const LineView view = view_of(line, columns);
      ASSERT_LT(display_width(view.text), columns);
      ASSERT_GE(view.cursor, 0);
      ASSERT_LE(view.cursor, display_width(view.text));
    }
  }
}

}  // namespace
}  // namespace mega::cli
