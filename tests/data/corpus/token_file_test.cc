#include "mega/data/corpus/token_file.h"

#include <gtest/gtest.h>

#include "mega/base/random.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"
#include "tests/data/token_texts.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

std::vector<int32_t> all_of(const TokenFile& file) {
  std::vector<int32_t> tokens(static_cast<size_t>(file.size()));
  file.copy(0, file.size(), tokens.data());
  return tokens;
}

TEST(TokenFile, GivesBackWhatWasWritten) {
  const ScratchFolder folder;
  for (const int64_t vocabulary : {10, 65536, 65537}) {
    const fs::path path = folder / "a.tokens";
    const auto last = static_cast<int32_t>(vocabulary - 1);
    TokenWriter writer(path, vocabulary, 0xFEDCBA9876543210U);
    writer.append(std::vector<int32_t>{4, last, kEnd});
    writer.append({});
    writer.append(std::vector<int32_t>{kUnknown, kUnknown});
    writer.count_text("a\u00e4\n");
    writer.count_text("xyz");
    EXPECT_EQ(writer.size(), 5);
    writer.finish();

    const TokenFile file = TokenFile::open(path);
    EXPECT_EQ(file.bytes_per_token(), vocabulary > 65536 ? 4 : 2);
    EXPECT_EQ(all_of(file), (std::vector<int32_t>{4, last, kEnd, kUnknown, kUnknown}));
    EXPECT_EQ(file.vocabulary(), vocabulary);
    EXPECT_EQ(file.fingerprint(), 0xFEDCBA9876543210U);
    EXPECT_EQ(file.counts().lines, 1);
    EXPECT_EQ(file.counts().unknown, 2);
    EXPECT_EQ(file.counts().characters, 6);
    EXPECT_EQ(file.counts().bytes, 7);
    file.verify();
    EXPECT_EQ(file.find(kUnknown, 0, 5), 3);
    EXPECT_EQ(file.find(kUnknown, 4, 5), 4);
    EXPECT_EQ(file.find(kUnknown, 0, 3), 3);
  }
}

TEST(TokenFile, ManyTokensInManyPieces) {
  const ScratchFolder folder;
  TokenWriter writer(folder / "a.tokens", 50000, 0);
  std::vector<int32_t> expected;
  for (int32_t i = 0; i < 3000; ++i) {
    const std::vector<int32_t> line(static_cast<size_t>(i % 200), i);
    writer.append(line);
    expected.insert(expected.end(), line.begin(), line.end());
  }
  writer.finish();
  const TokenFile file = TokenFile::open(folder / "a.tokens");
  EXPECT_EQ(all_of(file), expected);
  file.verify();
}

TEST(TokenFile, MayBeEmpty) {
  const ScratchFolder folder;
  const TokenView view = write_tokens(folder / "a.tokens", {});
  EXPECT_EQ(view.size(), 0);
  view.file->verify();
  EXPECT_EQ(view.file->find(kEnd, 0, 0), 0);
}

TEST(TokenFile, AppearsOnlyWhenFinished) {
  const ScratchFolder folder;
  {
    TokenWriter writer(folder / "a.tokens", 10, 0);
    writer.append(std::vector<int32_t>{1, 2, 3});
    EXPECT_FALSE(fs::exists(folder / "a.tokens"));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(TokenFile, TokensAreOfTheVocabulary) {
  const ScratchFolder folder;
  TokenWriter writer(folder / "a.tokens", 10, 0);
  EXPECT_PRED2(contains, error_of([&] { writer.append(std::vector<int32_t>{10}); }),
               "token 10 of a vocabulary of 10");
  EXPECT_PRED2(contains, error_of([&] { writer.append(std::vector<int32_t>{-1}); }), "token -1");
  EXPECT_PRED2(contains, error_of([&] { TokenWriter(folder / "b.tokens", 0, 0); }), "vocabulary of 0");
}

TEST(TokenFile, RangesAreChecked) {
  const ScratchFolder folder;
  const TokenView view = write_tokens(folder / "a.tokens", {5, 6, 7});
  int32_t out[3];
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  for (const auto& [begin, count] :
       {std::pair{int64_t{1}, int64_t{3}}, {-1, 1}, {0, -1}, {kHuge, 2}, {2, kHuge}})
    EXPECT_PRED2(contains, error_of([&] { view.file->copy(begin, count, out); }), "of 3");
  EXPECT_PRED2(contains, error_of([&] { view.file->find(kEnd, 2, 4); }), "of 3");
}

TEST(TokenFile, TruncatedAnywhereIsAnError) {
  const ScratchFolder folder;
  write_tokens(folder / "a.tokens", {5, 6, 7, 8});
  const std::string whole = read_file(folder / "a.tokens");
  for (size_t size = 0; size < whole.size(); ++size) {
    write_file(folder / "cut.tokens", whole.substr(0, size));
    EXPECT_PRED2(contains, error_of([&] { TokenFile::open(folder / "cut.tokens"); }), "cut.tokens: ") << size;
  }
  write_file(folder / "longer.tokens", whole + "xx");
  error_of([&] { TokenFile::open(folder / "longer.tokens"); });
}

TEST(TokenFile, DamageIsFoundInAnyByte) {
  const ScratchFolder folder;
  write_tokens(folder / "a.tokens", {5, 6, 7, 8}, 10);
  const std::string whole = read_file(folder / "a.tokens");
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x81);
    write_file(folder / "b.tokens", damaged);
    EXPECT_PRED2(contains, error_of([&] { TokenFile::open(folder / "b.tokens").verify(); }), "b.tokens: ")
        << at;
  }
  // A token out of the vocabulary is found by whoever copies it too.
  std::string damaged = whole;
  damaged[16] = 10;
  write_file(folder / "b.tokens", damaged);
  const TokenFile file = TokenFile::open(folder / "b.tokens");
  EXPECT_PRED2(contains, error_of([&] { all_of(file); }), "token 10 of a vocabulary of 10");
}

// A file whose checksums are right, made to mislead.
TEST(TokenFile, ImpossibleCountsAreErrors) {
  const ScratchFolder folder;
  write_tokens(folder / "a.tokens", {5, 6, 7, 8}, 10);
  const std::string whole = read_file(folder / "a.tokens");
  constexpr size_t kFoot = 72;
  const char* const fields[] = {"tokens", "lines", "characters", "bytes", "unknown", "vocabulary"};
  for (size_t field = 0; field < std::size(fields); ++field) {
    std::string foot = whole.substr(whole.size() - kFoot, kFoot - sizeof(uint64_t));
    foot.replace(field * sizeof(uint64_t), sizeof(uint64_t), sizeof(uint64_t), '\xFF');
    const uint64_t checksum = stream_seed(1, foot);
    foot.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
    write_file(folder / "b.tokens", whole.substr(0, whole.size() - kFoot) + foot);
    const std::string error = error_of([&] { TokenFile::open(folder / "b.tokens"); });
    EXPECT_PRED2(contains, error, "damaged: ") << fields[field];
  }
}

TEST(TokenFile, OtherFilesAreNamed) {
  const ScratchFolder folder;
  write_file(folder / "other", std::string(1000, 'x'));
  EXPECT_PRED2(contains, error_of([&] { TokenFile::open(folder / "other"); }), "no file of tokens");
  EXPECT_PRED2(contains, error_of([&] { TokenFile::open(folder / "missing"); }), "cannot open");
}

}  // namespace
}  // namespace mega::data
