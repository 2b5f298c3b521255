#include "mega/base/printable.h"

#include <gtest/gtest.h>

namespace mega {
namespace {

TEST(Printable, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(printable("a class, Größe 漢字 \\ \"quoted\""), "a class, Größe 漢字 \\ \"quoted\"");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("\x1b[31mred\x07\x7f"), "\\x1b[31mred\\x07\\x7f");
  EXPECT_EQ(printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // U+009B is "control sequence introducer", an escape sequence in one character.
  EXPECT_EQ(printable("\u009b31m"), "\\u009b31m");
}

TEST(Printable, ReplacesInvalidUtf8) {
  // The raw byte 0x9B is U+009B to terminals that do not read UTF-8.
  EXPECT_EQ(printable("a\x9b"
                      "b"),
            "a\uFFFDb");
  EXPECT_EQ(printable("a\xE2\x82"), "a\uFFFD");
}

TEST(Printable, KeepsLineBreaksOfWholeTexts) {
  EXPECT_EQ(printable_lines("one\n\ttwo\r\x1b"), "one\n\ttwo\\r\\x1b");
}

TEST(PrintableStream, IsNotFooledByPieces) {
  const std::string text = "a\u009b31m\x1b[0m\n漢\x9b z";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    PrintableStream stream;
    std::string shown = stream.add(text.substr(0, cut));
    shown += stream.add(text.substr(cut));
    shown += stream.finish();
    EXPECT_EQ(shown, printable_lines(text)) << cut;
  }
  PrintableStream stream;
  std::string shown;
  for (const char c : text) shown += stream.add({&c, 1});
  EXPECT_EQ(shown, printable_lines(text));
  EXPECT_EQ(stream.add("\xC2"), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
}

}  // namespace
}  // namespace mega
