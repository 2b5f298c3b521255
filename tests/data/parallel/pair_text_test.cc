#include "mega/data/parallel/pair_text.h"

#include <map>

#include "mega/base/strings.h"
#include "mega/data/parallel/misalignment.h"
#include "tests/data/parallel/pair_files.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using Strings = std::vector<std::string>;

class PairTextTest : public PairFilesTest {
 protected:
  PairText two(const char* source, const char* target) const {
    PairText text;
    text.name = "train";
    text.files = {{path(source), path(target)}};
    return text;
  }
  PairText table(const char* name) const {
    PairText text = two(name, "");
    text.files = {{path(name), {}}};
    return text;
  }

  Strings read(const PairText& text) {
    PairReader reader(text, problems_);
    Strings pairs;
    for (Pair pair; reader.next(pair);) pairs.push_back(pair.source + "|" + pair.target);
    return pairs;
  }

  Problems problems_{true};
};

TEST_F(PairTextTest, LineByLine) {
  put("a", "one\ntwo\n\nfour");
  put("b.gz", "eins\nzwei\n\nvier\n");
  EXPECT_EQ(read(two("a", "b.gz")), (Strings{"one|eins", "two|zwei", "|", "four|vier"}));
}

TEST_F(PairTextTest, LineEndsMarksAndOddBytes) {
  put("a", "\xEF\xBB\xBFone\r\ntwo\r\n");
  put("b", std::string("eins\0null\n\xFF\xFE zwei\n", 17));
  EXPECT_EQ(read(two("a", "b")), (Strings{std::string("one|eins\0null", 13), "two|\xFF\xFE zwei"}));
}

TEST_F(PairTextTest, ALineOfTenMegabytes) {
  put("a", std::string(10'000'000, 'x') + "\nshort\n");
  put("b", "long\nkurz\n");
  const Strings pairs = read(two("a", "b"));
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].size(), 10'000'005U);
  EXPECT_EQ(pairs[1], "short|kurz");
}

TEST_F(PairTextTest, SeveralFilesFollowEachOther) {
  put("a", "one");
  put("b", "eins");
  put("c.tsv", "two\tzwei\n");
  PairText text = two("a", "b");
  text.files.push_back(table("c.tsv").files[0]);
  EXPECT_EQ(read(text), (Strings{"one|eins", "two|zwei"}));
}

TEST_F(PairTextTest, NothingAtAll) {
  put("a", "");
  put("b", "");
  EXPECT_TRUE(read(two("a", "b")).empty());
}

TEST_F(PairTextTest, FilesOfDifferentLengthsAreAnError) {
  put("a.en", "1\n2\n3\n");
  put("a.de", "1\n2\n");
  const std::string error = error_of([&] { read(two("a.en", "a.de")); });
  EXPECT_PRED2(contains, error, "a.en has 3 lines and ");
  EXPECT_PRED2(contains, error, "a.de 2: line by line");
  put("none", "");
  EXPECT_PRED2(contains, error_of([&] { read(two("none", "a.de")); }), "none has 0 lines");
}

// Sentences of which each is about as long as its translation.
Strings sentences(int count, double factor) {
  Strings lines;
  for (int i = 0; i < count; ++i) {
    const double length = 10 + (i * 7919) % 97 + (i % 3);
    lines.push_back(std::string(static_cast<size_t>(length * factor), 'a' + static_cast<char>(i % 26)));
  }
  return lines;
}

std::string joined(const Strings& lines) { return join(lines, "\n") + "\n"; }

TEST_F(PairTextTest, TheErrorSaysWhereLinesAreMissing) {
  put("a", joined(sentences(500, 1.0)));
  for (const size_t missing : {0U, 123U, 450U}) {
    Strings target = sentences(500, 1.15);
    target.erase(target.begin() + static_cast<int64_t>(missing),
                 target.begin() + static_cast<int64_t>(missing) + 2);
    put("b", joined(target));
    const std::string error = error_of([&] { read(two("a", "b")); });
    EXPECT_PRED2(contains, error, "500 lines and ");
    EXPECT_PRED2(contains, error, "they part near line " + std::to_string(missing + 1));
    EXPECT_PRED2(contains, error, "missing in b");
  }
  // At the end, nothing is shifted.
  Strings target = sentences(500, 1.15);
  target.resize(480);
  put("b", joined(target));
  const std::string error = error_of([&] { read(two("b", "a")); });
  EXPECT_PRED2(contains, error, "480 lines and ");
  EXPECT_FALSE(contains(error, "near line")) << error;
}

TEST(Misalignment, UnrelatedLengthsTellNothing) {
  std::vector<uint32_t> longer, shorter;
  for (uint32_t i = 0; i < 300; ++i) longer.push_back(1 + (i * 7919) % 200);
  for (uint32_t i = 0; i < 250; ++i) shorter.push_back(1 + (i * 104729 + 31) % 200);
  EXPECT_EQ(find_missing_line(longer, shorter), -1);
  EXPECT_EQ(find_missing_line({5}, {}), -1);
  // All of the end is missing, however the sums are rounded.
  for (size_t count = 1; count < 100; ++count) {
    std::vector<uint32_t> whole;
    for (uint32_t i = 0; i < 100; ++i) whole.push_back(10 + i * 7919 % 97 + i % 7);
    std::vector<uint32_t> beginning(whole.begin(), whole.begin() + static_cast<int64_t>(count));
    for (uint32_t& length : beginning) length = length * 11 / 10;
    EXPECT_EQ(find_missing_line(whole, beginning), -1) << count;
  }
}

TEST_F(PairTextTest, TabSeparated) {
  put("t.tsv", "one\teins\ntwo\t\n");
  EXPECT_EQ(read(table("t.tsv")), (Strings{"one|eins", "two|"}));
  put("t.txt", "a b\tc d\n");  // no ending that says what it is
  EXPECT_EQ(read(table("t.txt")), (Strings{"a b|c d"}));
  put("h.tsv", "id\tTarget\tsource\n1\teins\tone\n");
  EXPECT_EQ(read(table("h.tsv")), (Strings{"one|eins"}));
}

TEST_F(PairTextTest, ColumnsByNumberNameAndLanguage) {
  put("t.tsv", "1\teins\tone\n2\tzwei\ttwo\n");
  PairText text = table("t.tsv");
  EXPECT_PRED2(contains, error_of([&] { read(text); }), "text_column");
  text.columns.source = "3";
  text.columns.target = "2";
  EXPECT_EQ(read(text), (Strings{"one|eins", "two|zwei"}));
  put("l.tsv", "de\ten\tfr\neins\tone\tun\n");
  PairText languages = table("l.tsv");
  languages.columns.source_language = "fr";
  languages.columns.target_language = "de";
  EXPECT_EQ(read(languages), (Strings{"un|eins"}));
}

TEST_F(PairTextTest, Json) {
  put("t.jsonl",
      "{\"en\": \"one\\ntwo\", \"de\": \"eins\"}\n{\"en\": \"x\", \"de\": null}\n{\"en\": 3}\nnone\n");
  PairText text = table("t.jsonl");
  text.columns.source_language = "en";
  text.columns.target_language = "de";
  EXPECT_EQ(read(text), (Strings{"one two|eins", "x|"}));
  ASSERT_EQ(problems_.count(), 2);
  EXPECT_EQ(problems_.first()[0].where, "t.jsonl:3");
  EXPECT_PRED2(contains, problems_.first()[0].what, "which is the target?");
  Problems strict(false);
  EXPECT_PRED2(contains, error_of([&] {
                 PairReader reader(text, strict);
                 for (Pair pair; reader.next(pair);) {
                 }
               }),
               "t.jsonl:3");
}

TEST_F(PairTextTest, PairsAreDividedByTheirContent) {
  std::string source, target;
  for (int i = 0; i < 4000; ++i) {
    source += "line " + std::to_string(i % 2000) + "\n";  // each twice
    target += "zeile " + std::to_string(i % 2000) + "\n";
  }
  put("a", source);
  put("b", target);
  PairText text = two("a", "b");
  text.division = PairDivision{7, 0.1, 0.2};
  std::map<std::string, Split> seen;
  std::map<Split, size_t> counts;
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    text.split = split;
    for (const std::string& pair : read(text)) {
      EXPECT_EQ(seen.try_emplace(pair, split).first->second, split) << pair;
      ++counts[split];
    }
  }
  EXPECT_EQ(counts[Split::train] + counts[Split::valid] + counts[Split::test], 4000U);
  EXPECT_NEAR(static_cast<double>(counts[Split::test]), 800, 120);
  EXPECT_NEAR(static_cast<double>(counts[Split::valid]), 320, 90);
  text.split = Split::test;
  const Strings before = read(text);
  text.division->seed = 8;
  EXPECT_NE(read(text), before);
}

TEST_F(PairTextTest, FingerprintsAreOfContent) {
  put("a", "one\n");
  put("b", "eins\n");
  put("c", "eins\n");
  const auto fingerprint = [](PairText text) {
    text.hashes = std::make_shared<FileHashes>();
    return text.fingerprint();
  };
  EXPECT_EQ(fingerprint(two("a", "b")), fingerprint(two("a", "c")));
  EXPECT_NE(fingerprint(two("a", "b")), fingerprint(two("b", "a")));
  PairText text = table("a");
  const uint64_t before = fingerprint(text);
  text.columns.source = "2";
  EXPECT_NE(fingerprint(text), before);
}

}  // namespace
}  // namespace mega::data
