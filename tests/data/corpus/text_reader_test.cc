#include "mega/data/corpus/text_reader.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;
using Texts = std::vector<std::string>;

class Files {
 public:
  explicit Files(const Texts& texts) {
    for (size_t i = 0; i < texts.size(); ++i) {
      paths.push_back(folder_ / std::to_string(i).c_str());
      write_file(paths.back(), texts[i]);
    }
  }
  std::vector<fs::path> paths;

 private:
  ScratchFolder folder_;
};

// Parts with "|" after each, "$" before it where a line ends.
std::string parts_of(const TextRange& range, size_t longest = TextReader::kLongestPart) {
  TextReader reader(range, longest);
  std::string text;
  for (TextPart part; reader.next(part);) text += std::string(part.text) + (part.ends_line ? "$|" : "|");
  return text;
}

TEST(TextReader, GivesLines) {
  EXPECT_EQ(parts_of({Files({"one\n\ntwo words\n"}).paths}), "one$|$|two words$|");
}

TEST(TextReader, LinesOfSeveralFilesDoNotRunTogether) {
  const Files files({"a\nb", "", "c\n", "\n", "d"});
  EXPECT_EQ(parts_of({files.paths}), "a$|b$|c$|$|d$|");
  EXPECT_EQ(count_bytes(files.paths), 7);
}

TEST(TextReader, AnyByteIsText) {
  const std::string line("a\0b\r\xFF\x80", 6);
  EXPECT_EQ(parts_of({Files({line + "\n" + line}).paths}), line + "$|" + line + "$|");
}

TEST(TextReader, LongLinesAreCutAfterABlank) {
  EXPECT_EQ(parts_of({Files({"ab cd efghijklm\nx\n"}).paths}, 6), "ab cd |efghij|klm$|x$|");
  EXPECT_EQ(parts_of({Files({"abcdef\nghijkl"}).paths}, 6), "abcdef$|ghijkl$|");
  EXPECT_EQ(parts_of({Files({"abc def "}).paths}, 4), "abc |def $|");
  EXPECT_EQ(parts_of({Files({"abcdefgh", "i"}).paths}, 4), "abcd|efgh$|i$|");
}

TEST(TextReader, LongLinesAreCutBetweenCharacters) {
  EXPECT_EQ(parts_of({Files({"ab\u00e4\u00e4\u00e4\n"}).paths}, 5), "ab\u00e4|\u00e4\u00e4$|");
  EXPECT_EQ(parts_of({Files({"\U0001F600\U0001F600\n"}).paths}, 7), "\U0001F600|\U0001F600$|");
  // What is no UTF-8 is cut anywhere, but cut.
  EXPECT_EQ(parts_of({Files({std::string(10, '\x80')}).paths}, 4),
            "\x80\x80\x80\x80|\x80\x80\x80\x80|\x80\x80$|");
  EXPECT_EQ(parts_of({Files({"\u00e4"}).paths}, 1), "\xc3|\xa4$|");
}

TEST(TextReader, ALineOfMegabytesComesWholeInSmallParts) {
  std::string line;
  while (line.size() < 3'000'000)
    line += "word" + std::to_string(line.size()) + (line.size() % 7 == 0 ? "" : " ");
  const Files files({"first\n" + line + "\nlast"});
  TextReader reader({files.paths}, 4096);
  std::string together;
  size_t parts = 0;
  int64_t bytes = 0;
  for (TextPart part; reader.next(part); ++parts) {
    EXPECT_LE(part.text.size(), 4096U);
    together += part.text;
    if (part.ends_line) together += '\n';
    bytes += part.bytes;
  }
  EXPECT_EQ(together, "first\n" + line + "\nlast\n");
  EXPECT_EQ(bytes, std::ssize(together) - 1);
  EXPECT_GT(parts, 700U);
}

TEST(TextReader, RangesDivideTheText) {
  const Texts texts = {"one line\nanother\n", "no end", "\n\nmore\n"};
  const Files files(texts);
  const std::string whole = texts[0] + texts[1] + texts[2];
  const int64_t total = count_bytes(files.paths);
  ASSERT_EQ(total, std::ssize(whole));
  for (int64_t cut = 0; cut <= total; ++cut) {
    for (const size_t longest : {1U, 3U, 100U}) {
      int64_t bytes = 0, ends = 0;
      for (const TextRange& range : {TextRange{files.paths, 0, cut}, TextRange{files.paths, cut, total}}) {
        TextReader reader(range, longest);
        for (TextPart part; reader.next(part);) {
          const bool newline = part.bytes > std::ssize(part.text);
          EXPECT_EQ(part.text, whole.substr(static_cast<size_t>(bytes), part.text.size()));
          bytes += part.bytes;
          ends += part.ends_line;
          EXPECT_LE(newline, part.ends_line);
        }
      }
      EXPECT_EQ(bytes, total) << cut;
      EXPECT_EQ(ends, 6) << cut << " " << longest;  // "no end" too, even if the cut is behind it
    }
  }
}

TEST(TextReader, MissingFilesAreNamed) {
  EXPECT_PRED2(contains, error_of([] { parts_of({{"/no/such/file"}}); }), "/no/such/file");
}

TEST(FindCut, PrefersTheEndOfALine) {
  const Files files({"0123\n567 9\nabcdefgh"});
  EXPECT_EQ(find_cut(files.paths, 5, 3), 5);      // a line has just ended
  EXPECT_EQ(find_cut(files.paths, 6, 10), 11);    // the next line end
  EXPECT_EQ(find_cut(files.paths, 6, 4), 9);      // too far: after the blank
  EXPECT_EQ(find_cut(files.paths, 12, 4), 12);    // nothing near
  EXPECT_EQ(find_cut(files.paths, 12, 100), 19);  // a file ends its last line
  EXPECT_EQ(find_cut(files.paths, 0, 100), 0);
}

TEST(FindCut, NeverCutsACharacter) {
  const Files files({"a\u00e4\U0001F600bcdefgh"});
  for (const int64_t window : {0, 1, 4}) {
    EXPECT_EQ(find_cut(files.paths, 1, window), 1);
    EXPECT_EQ(find_cut(files.paths, 2, window), 3);
    for (int64_t target = 4; target <= 7; ++target) EXPECT_EQ(find_cut(files.paths, target, window), 7);
  }
}

}  // namespace
}  // namespace mega::data
