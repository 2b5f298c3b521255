#include "mega/data/corpus/corpus.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

class CorpusTest : public ::testing::Test {
 protected:
  CorpusTest() { ::setenv("MEGA_CACHE", cache().c_str(), 1); }
  ~CorpusTest() override { ::unsetenv("MEGA_CACHE"); }

  fs::path cache() const { return folder_ / "cache"; }
  fs::path path(const char* name) const { return folder_ / name; }

  void put(const char* name, std::string_view text) const {
    fs::create_directories(path(name).parent_path());
    OutputStream file(path(name));
    file.write(text);
    file.commit();
  }

  DataOptions data(const char* name, double valid_share = 0, double test_share = 0) const {
    DataOptions options;
    options.path = path(name).string();
    options.valid_share = valid_share;
    options.test_share = test_share;
    return options;
  }

  // When each file of the cache was written.
  std::map<fs::path, fs::file_time_type> cached() const {
    std::map<fs::path, fs::file_time_type> files;
    for (const auto& entry : fs::directory_iterator(cache() / "tokens"))
      files[entry.path()] = entry.last_write_time();
    return files;
  }

 private:
  ScratchFolder folder_;
};

LanguageInput units(TextUnits units) {
  LanguageInput input;
  input.units = units;
  return input;
}
const LanguageInput kBytes = units(TextUnits::bytes), kWords = units(TextUnits::words);

std::vector<int32_t> tokens_of(const TokenView& view) {
  if (!view.file) return {};
  view.file->verify();
  std::vector<int32_t> tokens(static_cast<size_t>(view.size()));
  view.file->copy(view.begin, view.size(), tokens.data());
  return tokens;
}

std::string text_of(const Corpus& corpus, const TokenView& view) {
  return corpus.tokenizer->decode(tokens_of(view));
}

TEST_F(CorpusTest, OneFileAsItIs) {
  put("text.txt", "a b\n\nc \u00e4\n");
  const Corpus corpus = load_corpus(data("text.txt"), kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), "a b\n\nc \u00e4\n");
  EXPECT_EQ(corpus.train.counts.lines, 3);
  EXPECT_EQ(corpus.train.counts.bytes, 10);
  EXPECT_EQ(corpus.train.counts.characters, 9);
  EXPECT_EQ(corpus.train.name, "text.txt");
  EXPECT_TRUE(corpus.valid.empty());
  EXPECT_TRUE(corpus.test.empty());
  EXPECT_EQ(&corpus.part(Split::test), &corpus.test);
}

TEST_F(CorpusTest, FilesDoNotRunTogether) {
  put("texts/b.txt", "second");
  put("texts/a.txt.gz", "first");
  put("texts/deep/er/c", "third\n");
  put("texts/.hidden", "never");
  const Corpus corpus = load_corpus(data("texts"), kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), "first\nsecond\nthird\n");
  EXPECT_EQ(corpus.train.counts.bytes, 17);  // of what the files have
  EXPECT_EQ(corpus.train.counts.lines, 3);
}

TEST_F(CorpusTest, NulBytesAreBytes) {
  const std::string text("a\0b\0\n", 5);
  put("text", text);
  const Corpus corpus = load_corpus(data("text"), kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), text);
}

TEST_F(CorpusTest, OneTextIsDividedInItsOrder) {
  std::string text;
  for (int i = 100; i < 300; ++i) text += "line " + std::to_string(i) + "\n";
  put("text.xz", text);
  const Corpus corpus = load_corpus(data("text.xz", 0.1, 0.2), kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train) + text_of(corpus, corpus.valid) + text_of(corpus, corpus.test),
            text);
  EXPECT_EQ(corpus.train.counts.lines, 140);
  EXPECT_EQ(corpus.valid.counts.lines, 20);
  EXPECT_EQ(corpus.test.counts.lines, 40);

  const Corpus uneven = load_corpus(data("text.xz", 0.013, 0.017), kBytes, nullptr);
  for (const TokenView* view : {&uneven.train, &uneven.valid, &uneven.test})
    EXPECT_TRUE(text_of(uneven, *view).ends_with('\n'));
}

TEST_F(CorpusTest, AllOfItMayBeForTest) {
  put("text", "one\ntwo\n");
  const Corpus corpus = load_corpus(data("text", 0.1, 1), kBytes, make_tokenizer(TextUnits::bytes, "", ""));
  EXPECT_EQ(text_of(corpus, corpus.test), "one\ntwo\n");
  EXPECT_TRUE(corpus.train.empty());
  EXPECT_TRUE(corpus.valid.empty());
  EXPECT_PRED2(contains, error_of([&] { load_corpus(data("text", 0.1, 1), kBytes, nullptr); }),
               "nothing is left to train on");
}

TEST_F(CorpusTest, ALineWithoutEndIsDividedToo) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "word ";
  put("text", text);
  const Corpus corpus = load_corpus(data("text", 0.1, 0.1), kWords, nullptr);
  EXPECT_EQ(corpus.train.size(), 800);
  EXPECT_EQ(corpus.valid.size(), 100);
  EXPECT_EQ(corpus.test.size(), 101);  // and the end of the file
  EXPECT_EQ(corpus.train.counts.unknown + corpus.valid.counts.unknown + corpus.test.counts.unknown, 0);
}

TEST_F(CorpusTest, NamesSayTheSplit) {
  put("wiki/wiki.train.tokens.xz", "train\n");
  put("wiki/wiki.valid.tokens.xz", "valid\n");
  put("wiki/wiki.test.tokens.xz", "test\n");
  const Corpus corpus = load_corpus(data("wiki", 0.5, 0.5), kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), "train\n");
  EXPECT_EQ(text_of(corpus, corpus.valid), "valid\n");
  EXPECT_EQ(text_of(corpus, corpus.test), "test\n");
  EXPECT_EQ(corpus.valid.name, "wiki.valid.tokens.xz");
}

TEST_F(CorpusTest, AMissingValidationTextIsTheEndOfTheTrainingText) {
  put("texts/train.txt", "1\n2\n3\n4\n");
  put("texts/test.txt", "5\n");
  const Corpus corpus = load_corpus(data("texts", 0.25, 0.5), kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), "1\n2\n3\n");
  EXPECT_EQ(text_of(corpus, corpus.valid), "4\n");
  EXPECT_EQ(text_of(corpus, corpus.test), "5\n");
}

TEST_F(CorpusTest, AMissingTestTextIsMissing) {
  put("texts/train.txt", "1\n2\n");
  put("texts/valid.txt", "5\n");
  const Corpus corpus = load_corpus(data("texts", 0.5, 0.5), kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), "1\n2\n");
  EXPECT_EQ(text_of(corpus, corpus.valid), "5\n");
  EXPECT_TRUE(corpus.test.empty());
}

TEST_F(CorpusTest, OptionsNameOtherTexts) {
  put("a", "1\n2\n");
  put("b", "3\n");
  put("c/c", "4\n");
  DataOptions options = data("a", 0.5, 0.5);
  options.valid = path("b").string();
  options.test = path("c").string();
  const Corpus corpus = load_corpus(options, kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), "1\n2\n");
  EXPECT_EQ(text_of(corpus, corpus.valid), "3\n");
  EXPECT_EQ(text_of(corpus, corpus.test), "4\n");
}

TEST_F(CorpusTest, TheVocabularyIsOfTheTrainingTextAlone) {
  put("texts/train.txt", "a b a\n");
  put("texts/valid.txt", "a c\n");
  const Corpus corpus = load_corpus(data("texts"), kWords, nullptr);
  EXPECT_EQ(corpus.tokenizer->size(), kFirstSymbol + 2);
  EXPECT_EQ(tokens_of(corpus.train), (std::vector<int32_t>{4, 5, 4, kEnd}));
  EXPECT_EQ(tokens_of(corpus.valid), (std::vector<int32_t>{4, kUnknown, kEnd}));
  EXPECT_EQ(corpus.train.counts.unknown, 0);
  EXPECT_EQ(corpus.valid.counts.unknown, 1);

  put("other", "b c d\n");
  const Corpus other = load_corpus(data("other"), kWords, corpus.tokenizer);
  EXPECT_EQ(other.tokenizer, corpus.tokenizer);
  EXPECT_EQ(tokens_of(other.train), (std::vector<int32_t>{5, kUnknown, kUnknown, kEnd}));
}

TEST_F(CorpusTest, TokensAreMadeOnce) {
  put("text", "words, words and more words\nand others\nand so on\n");
  const DataOptions options = data("text", 0.2, 0.2);
  const Corpus first = load_corpus(options, kWords, nullptr);
  const auto made = cached();
  EXPECT_EQ(made.size(), 4U);  // a vocabulary and three parts
  const Corpus second = load_corpus(options, kWords, nullptr);
  EXPECT_EQ(cached(), made);
  EXPECT_EQ(second.checksum, first.checksum);
  EXPECT_EQ(tokens_of(second.train), tokens_of(first.train));
  EXPECT_EQ(second.train.counts.bytes, first.train.counts.bytes);

  LanguageInput rarer = kWords;
  rarer.min_count = 2;
  EXPECT_NE(load_corpus(options, rarer, nullptr).checksum, first.checksum);
  EXPECT_GT(cached().size(), made.size());
}

TEST_F(CorpusTest, AChangedTextIsReadAgain) {
  put("text", "one\n");
  const std::string before = load_corpus(data("text"), kBytes, nullptr).checksum;
  put("text", "two\n");
  fs::last_write_time(path("text"), fs::file_time_type::clock::now() + std::chrono::seconds(5));
  const Corpus corpus = load_corpus(data("text"), kBytes, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), "two\n");
  EXPECT_NE(corpus.checksum, before);
}

TEST_F(CorpusTest, WhatIsDamagedIsMadeAgain) {
  put("text", "some words\n");
  const std::string checksum = load_corpus(data("text"), kWords, nullptr).checksum;
  for (const auto& [file, time] : cached()) fs::resize_file(file, 5);
  EXPECT_EQ(load_corpus(data("text"), kWords, nullptr).checksum, checksum);
}

TEST_F(CorpusTest, LimitsCountTokens) {
  put("texts/train.txt", "one two three\nfour five\n");
  put("texts/valid.txt", "one two\nthree\n");
  put("texts/test.txt", "one two\nthree\n");
  DataOptions options = data("texts");
  options.limit = 2;
  const Corpus corpus = load_corpus(options, kWords, nullptr);
  EXPECT_EQ(text_of(corpus, corpus.train), "one two");
  EXPECT_EQ(corpus.train.counts.bytes, 8);  // with the blank behind it
  EXPECT_EQ(corpus.valid.size(), 2);
  options.evaluation_limit = 4;
  const Corpus more = load_corpus(options, kWords, nullptr);
  EXPECT_EQ(text_of(more, more.train), "one two");
  EXPECT_EQ(text_of(more, more.test), "one two\nthree");
  options.limit = 3;  // the line, not its end
  const Corpus line = load_corpus(options, kWords, nullptr);
  EXPECT_EQ(text_of(line, line.train), "one two three");
  options.limit = 1000;
  EXPECT_EQ(load_corpus(options, kWords, nullptr).train.size(), 7);

  put("char", "\u00e4\u00f6\u20ac\u00fc\n");
  DataOptions characters = data("char");
  characters.limit = 3;
  const Corpus cut = load_corpus(characters, units(TextUnits::characters), nullptr);
  EXPECT_EQ(text_of(cut, cut.train), "\u00e4\u00f6\u20ac");
  EXPECT_EQ(cut.train.counts.bytes, 7);
}

TEST_F(CorpusTest, StandardInput) {
  put("text", "from a pipe\n");
  const int kept = ::dup(STDIN_FILENO);
  DataOptions options = data("text");
  options.path = "-";
  std::vector<std::map<fs::path, fs::file_time_type>> made;
  for (int i = 0; i < 2; ++i) {
    const int file = ::open(path("text").c_str(), O_RDONLY);
    ASSERT_GE(::dup2(file, STDIN_FILENO), 0);
    ::close(file);
    const Corpus corpus = load_corpus(options, kWords, nullptr);
    EXPECT_EQ(text_of(corpus, corpus.train), "from a pipe\n");
    EXPECT_EQ(corpus.train.name, "standard input");
    made.push_back(cached());
  }
  ::dup2(kept, STDIN_FILENO);
  ::close(kept);
  EXPECT_EQ(made[0], made[1]);  // the same text again: nothing is made again
  options.valid = "-";
  EXPECT_PRED2(contains, error_of([&] { load_corpus(options, kWords, nullptr); }), "standard input");
}

TEST_F(CorpusTest, Errors) {
  const auto error = [&](const DataOptions& options) {
    return error_of([&] { load_corpus(options, kWords, nullptr); });
  };
  EXPECT_PRED2(contains, error(DataOptions()), "no data");
  EXPECT_PRED2(contains, error(data("missing")), "missing: no such file or folder");
  fs::create_directories(path("empty"));
  EXPECT_PRED2(contains, error(data("empty")), "no files in this folder");
  put("nothing", "");
  EXPECT_PRED2(contains, error(data("nothing")), "an empty text");
  put("texts/test.txt", "a\n");
  EXPECT_PRED2(contains, error(data("texts")), "no text to train on");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_PRED2(contains, error(data("pipe")), "neither a file nor a folder");
  DataOptions options = data("nothing");
  options.valid = path("missing").string();
  EXPECT_PRED2(contains, error(options), "missing: no such file or folder");
}

TEST_F(CorpusTest, ATextThatIsReadOnceLeavesNothing) {
  const auto tokenizer = make_tokenizer(TextUnits::bytes, "", "");
  put("text", "\u00e4b\nc");
  put("text.gz", "\u00e4b\nc");
  for (const char* name : {"text", "text.gz"}) {
    const TokenView view = tokenize_once(path(name), *tokenizer);
    EXPECT_TRUE(cached().empty());
    EXPECT_EQ(tokenizer->decode(tokens_of(view)), "\u00e4b\nc\n");
    EXPECT_EQ(view.counts.bytes, 5);
    EXPECT_EQ(view.counts.characters, 4);
    EXPECT_EQ(view.name, path(name).string());
  }
  put("nothing", "");
  const auto error = [&](const char* name) {
    return error_of([&] { tokenize_once(path(name), *tokenizer); });
  };
  EXPECT_PRED2(contains, error("nothing"), "nothing: an empty text");
  EXPECT_PRED2(contains, error("missing"), "missing");
  EXPECT_PRED2(contains, error("cache"), "a folder");
  EXPECT_TRUE(cached().empty());
}

TEST_F(CorpusTest, ACacheThatCannotBeMadeSaysWhatToDo) {
  put("text", "a\n");
  ::setenv("MEGA_CACHE", path("text/below").c_str(), 1);
  EXPECT_PRED2(contains, error_of([&] { load_corpus(data("text"), kBytes, nullptr); }), "set MEGA_CACHE");
}

TEST_F(CorpusTest, TheCacheIsWhereTheEnvironmentSays) {
  put("text", "a\n");
  ::unsetenv("MEGA_CACHE");
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", path("xdg").c_str(), 1);
  load_corpus(data("text"), kBytes, nullptr);
  EXPECT_FALSE(fs::is_empty(path("xdg/mega/tokens")));
  before == nullptr ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

TEST_F(CorpusTest, AModelOfPiecesCountsByItsContent) {
  // Byte b is piece b, then a blank; field by field, as SentencePiece writes it.
  const auto field = [](char key, const std::string& bytes) {
    return std::string{key, static_cast<char>(bytes.size())} + bytes;
  };
  std::string model;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    model += field(0x0A, field(0x0A, name) + "\x18\x06");
  }
  model += field(0x0A, field(0x0A, "\u2581"));
  const std::string settings = field(0x1A, std::string("\x18\0\x20\0", 4));
  put("text.txt", "ab ab\n");
  put("pieces.model", model + settings);
  LanguageInput input = units(TextUnits::sentencepiece);
  input.model = path("pieces.model").string();
  const Corpus bytes = load_corpus(data("text.txt"), input, nullptr);
  EXPECT_EQ(tokens_of(bytes.train), (std::vector<int32_t>{4 + 'a', 4 + 'b', 260, 4 + 'a', 4 + 'b', kEnd}));

  put("pieces.model", model + field(0x0A, field(0x0A, "ab")) + settings);
  const Corpus pieces = load_corpus(data("text.txt"), input, nullptr);
  EXPECT_EQ(tokens_of(pieces.train), (std::vector<int32_t>{261, 260, 261, kEnd}));
  EXPECT_NE(bytes.checksum, pieces.checksum);
}

TEST_F(CorpusTest, ContentDecidesNotSizeAndTime) {
  put("text", "one\n");
  const auto time = fs::last_write_time(path("text"));
  const Corpus before = load_corpus(data("text"), kWords, nullptr);
  const auto made = cached();
  put("text", "two\n");
  fs::last_write_time(path("text"), time);
  const Corpus after = load_corpus(data("text"), kWords, nullptr);
  EXPECT_EQ(text_of(before, before.train), "one\n");
  EXPECT_EQ(text_of(after, after.train), "two\n");

  // The same text at another time, in another place: nothing is made again.
  put("copy", "one\n");
  fs::last_write_time(path("copy"), time + std::chrono::hours(1));
  const auto all = cached();
  EXPECT_EQ(load_corpus(data("copy"), kWords, nullptr).checksum, before.checksum);
  EXPECT_EQ(cached(), all);
  EXPECT_GT(all.size(), made.size());
}

TEST_F(CorpusTest, WhatKilledRunsLeftIsRemoved) {
  put("text", "one\n");
  load_corpus(data("text"), kBytes, nullptr);
  const auto made = cached();
  for (const char* name :
       {".0123.tokens.99999999.0.tmp", ".once.99999999.3.tmp", ".standard-input.99999999.0.tmp"})
    std::ofstream(cache() / "tokens" / name) << "left";
  load_corpus(data("text"), kBytes, nullptr);
  EXPECT_EQ(cached(), made);
}

// Nobody writes into it: to open it would be to wait for ever.
TEST_F(CorpusTest, APipeInTheCacheIsAnError) {
  put("text", "one two\n");
  load_corpus(data("text"), kWords, nullptr);
  for (const auto& [file, time] : cached()) {
    fs::rename(file, path("kept"));
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_PRED2(contains, error_of([&] { load_corpus(data("text"), kWords, nullptr); }), "is a pipe (FIFO)");
    EXPECT_TRUE(fs::is_fifo(file));
    fs::rename(path("kept"), file);
  }
}

}  // namespace
}  // namespace mega::data
