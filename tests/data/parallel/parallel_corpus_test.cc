#include "mega/data/parallel/parallel_corpus.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "mega/base/strings.h"
#include "mega/text/tokens.h"
#include "tests/data/parallel/pair_files.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using Strings = std::vector<std::string>;
using Tokens = std::vector<int32_t>;

class ParallelCorpusTest : public PairFilesTest {
 protected:
  ParallelRequest request(const char* name, TextUnits units = TextUnits::words) const {
    ParallelRequest request;
    request.data = data(name);
    request.input = translation(units, "en", "de");
    return request;
  }

  // When each file of the cache was written.
  std::map<fs::path, fs::file_time_type> cached() const {
    std::map<fs::path, fs::file_time_type> files;
    for (const auto& entry : fs::directory_iterator(path("cache/tokens")))
      files[entry.path()] = entry.last_write_time();
    return files;
  }

  void put_small() const {
    put("m/train.en", "a house\na dog\n");
    put("m/train.de", "ein haus\nein hund\n");
    put("m/val.en", "a house\n");
    put("m/val.de", "ein haus\n");
    put("m/test_a.en", "a cat\n");
    put("m/test_a.de", "eine katze\n");
    put("m/test_b.en", "\nhouse\n");
    put("m/test_b.de", "nichts\nhaus\n");
  }
};

TEST_F(ParallelCorpusTest, AFolder) {
  put_small();
  const ParallelCorpus corpus = load_parallel(request("m"));
  EXPECT_EQ(texts_of(corpus, corpus.train), (Strings{"a house | ein haus", "a dog | ein hund"}));
  EXPECT_EQ(texts_of(corpus, corpus.valid), (Strings{"a house | ein haus"}));
  ASSERT_EQ(corpus.tests.size(), 2U);
  EXPECT_EQ(corpus.tests[0].name(), "test_a");
  EXPECT_EQ(texts_of(corpus, corpus.tests[0]), (Strings{"a <unk> | <unk> <unk>"}));
  EXPECT_EQ(texts_of(corpus, corpus.tests[1]), (Strings{" | <unk>", "house | haus"}));
  EXPECT_EQ(corpus.languages.source, "en");
  EXPECT_EQ(corpus.tokenizers.source, corpus.tokenizers.target);
  EXPECT_EQ(corpus.tokenizers.source->size(), kFirstSymbol + 6);
  EXPECT_EQ(corpus.parts().size(), 4U);

  const std::vector<Pair> written = written_pairs(corpus.tests[0]);
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].target, "eine katze");
  EXPECT_EQ(corpus.tests[0].target.text().counts.bytes, 11);  // with its line end
}

TEST_F(ParallelCorpusTest, EachSideMayHaveItsVocabulary) {
  put_small();
  ParallelRequest separate = request("m");
  separate.input.joint = false;
  const ParallelCorpus corpus = load_parallel(separate);
  EXPECT_NE(corpus.tokenizers.source, corpus.tokenizers.target);
  EXPECT_EQ(corpus.tokenizers.source->size(), kFirstSymbol + 3);  // a, house, dog
  EXPECT_EQ(corpus.tokenizers.target->size(), kFirstSymbol + 3);
  EXPECT_EQ(texts_of(corpus, corpus.train), (Strings{"a house | ein haus", "a dog | ein hund"}));
  EXPECT_EQ(tokens_of(corpus.train.target, 0).front(), kFirstSymbol);
  EXPECT_NE(corpus.checksum, load_parallel(request("m")).checksum);

  ParallelRequest again = request("m");
  again.input.joint = false;
  again.known = corpus.tokenizers;
  EXPECT_EQ(load_parallel(again).checksum, corpus.checksum);
  again.input.joint = true;
  again.known = {};
  again.input.target_model = "some.model";
  EXPECT_PRED2(contains, error_of([&] { load_parallel(again); }), "input.joint=false");
}

TEST_F(ParallelCorpusTest, TrainingIsCleaned) {
  put("m/train.en", "one two\n\nthree\na b c d e f\nx\n \n");
  put("m/train.de", "eins zwei\nleer\n\na b c\ny y y y\n\n");
  put("m/test.en", "one two three four five six\n\n");
  put("m/test.de", "eins\nx\n");
  ParallelRequest some = request("m");
  some.input.max_length = 6;  // with </s>
  some.data.max_ratio = 3;
  const ParallelCorpus corpus = load_parallel(some);
  EXPECT_EQ(texts_of(corpus, corpus.train), (Strings{"one two | eins zwei"}));
  const PairCounts& counts = corpus.train.counts;
  EXPECT_EQ(counts.pairs, 1);
  EXPECT_EQ(counts.empty, 3);
  EXPECT_EQ(counts.too_long, 1);
  EXPECT_EQ(counts.unbalanced, 1);
  EXPECT_EQ(counts.read(), 6);
  EXPECT_EQ(counts.empty_sources, 2);
  EXPECT_EQ(counts.empty_targets, 2);
  // Elsewhere nothing is left out.
  ASSERT_EQ(corpus.tests[0].size(), 2);
  EXPECT_EQ(corpus.tests[0].counts.cut, 1);
  EXPECT_EQ(tokens_of(corpus.tests[0].source, 0).size(), 6U);
  EXPECT_EQ(tokens_of(corpus.tests[0].source, 0).back(), kEnd);
  EXPECT_EQ(tokens_of(corpus.tests[0].source, 1), Tokens{kEnd});
  EXPECT_PRED2(contains, error_of([&] { written_pairs(corpus.train); }), "left out");

  some.data.max_ratio = 0;
  some.input.max_length = 0;
  EXPECT_EQ(load_parallel(some).train.size(), 3);
  some.input.max_length = 2;
  EXPECT_PRED2(contains, error_of([&] { load_parallel(some); }),
               "nothing is left to train on: of 6 pairs, 3 have an empty side, 3 are longer");
}

TEST_F(ParallelCorpusTest, AnOddTextHasAllItsPairs) {
  const std::string longest(10'000'000, 'x');
  put("m/train.en", std::string("one\0null\r\n\xFF\xFE\n", 13) + longest + "\nlast");
  put("m/train.de", "eins\nzwei\n" + longest + "\nletzte\n");
  for (const TextUnits units : {TextUnits::bytes, TextUnits::characters, TextUnits::words}) {
    const ParallelCorpus corpus = load_parallel(request("m", units));
    EXPECT_EQ(corpus.train.counts.too_long, units == TextUnits::words ? 0 : 1);
    EXPECT_EQ(corpus.train.size(), units == TextUnits::words ? 4 : 3);
    const Strings texts = texts_of(corpus, corpus.train);
    EXPECT_EQ(texts.front(), std::string("one\0null | eins", 15));
    EXPECT_EQ(texts.back(), "last | letzte");
  }
}

TEST_F(ParallelCorpusTest, PreparationComesBeforeTokens) {
  put_small();
  ParallelRequest prepared = request("m");
  prepared.preparation.target = [](std::string_view line) {
    std::string reversed(line);
    std::reverse(reversed.begin(), reversed.end());
    return reversed;
  };
  prepared.preparation.fingerprint = 1;
  const std::string checksum = load_parallel(request("m")).checksum;
  const ParallelCorpus corpus = load_parallel(prepared);
  EXPECT_EQ(texts_of(corpus, corpus.train), (Strings{"a house | suah nie", "a dog | dnuh nie"}));
  EXPECT_NE(corpus.checksum, checksum);
  EXPECT_EQ(written_pairs(corpus.valid)[0].target, "ein haus");
}

TEST_F(ParallelCorpusTest, TokensAreMadeOnce) {
  put_small();
  const ParallelCorpus first = load_parallel(request("m"));
  const auto made = cached();
  EXPECT_EQ(made.size(), 1U + 4 * 3);  // a vocabulary, and three files of each part
  const ParallelCorpus second = load_parallel(request("m"));
  EXPECT_EQ(cached(), made);
  EXPECT_EQ(second.checksum, first.checksum);
  EXPECT_EQ(second.train.counts.pairs, 2);

  // In another place and compressed otherwise: the same tokens, but made again, as the bytes are others.
  put("n/train.en.gz", "a house\na dog\n");
  put("n/train.de.gz", "ein haus\nein hund\n");
  const ParallelCorpus other = load_parallel(request("n"));
  EXPECT_EQ(other.train.source.text().file->checksum(), first.train.source.text().file->checksum());

  for (const auto& [file, time] : made) fs::resize_file(file, 5);
  EXPECT_EQ(load_parallel(request("m")).checksum, first.checksum);
  // Tokens without the counts that are written last.
  for (const auto& [file, time] : made)
    if (file.extension() == ".pairs") fs::remove(file);
  EXPECT_EQ(load_parallel(request("m")).checksum, first.checksum);
}

TEST_F(ParallelCorpusTest, OptionsChangeWhatIsKept) {
  put_small();
  const std::string checksum = load_parallel(request("m")).checksum;
  ParallelRequest changed = request("m");
  changed.input.max_length = 2;
  EXPECT_PRED2(contains, error_of([&] { load_parallel(changed); }), "nothing is left");
  changed = request("m");
  changed.data.limit = 1;
  EXPECT_EQ(load_parallel(changed).train.size(), 1);
  EXPECT_EQ(load_parallel(changed).tests[1].size(), 1);
  changed.data.evaluation_limit = 5;
  EXPECT_EQ(load_parallel(changed).tests[1].size(), 2);
  std::swap(changed.input.source_language, changed.input.target_language);
  EXPECT_EQ(load_parallel(changed).train.text.files[0].source.extension(), ".de");
  EXPECT_EQ(load_parallel(request("m")).checksum, checksum);
}

TEST_F(ParallelCorpusTest, AnEvaluationReadsNoTrainingText) {
  put_small();
  const ParallelCorpus trained = load_parallel(request("m"));
  put("m/train.en", "no longer aligned\n");
  ParallelRequest evaluation = request("m");
  evaluation.known = trained.tokenizers;
  evaluation.train = false;
  const ParallelCorpus corpus = load_parallel(evaluation);
  EXPECT_TRUE(corpus.train.empty());
  EXPECT_EQ(texts_of(corpus, corpus.valid), (Strings{"a house | ein haus"}));
  evaluation.known = {};
  EXPECT_PRED2(contains, error_of([&] { load_parallel(evaluation); }), "needs the tokenizers");

  put("one.tsv", "a house\tein haus\n");
  evaluation = request("one.tsv");
  evaluation.known = trained.tokenizers;
  evaluation.train = false;
  evaluation.data.test_share = 1;
  EXPECT_EQ(load_parallel(evaluation).tests.at(0).size(), 1);
}

TEST_F(ParallelCorpusTest, BrokenRows) {
  std::string rows;
  for (int i = 0; i < 200; ++i) rows += "line " + std::to_string(i) + "\tzeile " + std::to_string(i) + "\n";
  put("t.tsv", rows + "torn\n");
  ParallelRequest some = request("t.tsv");
  some.data.valid_share = some.data.test_share = 0.2;
  EXPECT_PRED2(contains, error_of([&] { load_parallel(some); }), "t.tsv:201: 1 column where 2 are expected");
  some.data.skip_broken = true;
  const ParallelCorpus corpus = load_parallel(some);
  EXPECT_EQ(corpus.problems, 1);  // though three parts have read it
  EXPECT_EQ(corpus.train.size() + corpus.valid.size() + corpus.tests.at(0).size(), 200);
  ASSERT_EQ(list_problems(corpus).size(), 1U);
  EXPECT_EQ(list_problems(corpus)[0].where, "t.tsv:201");
  some.data.skip_broken = false;
  EXPECT_PRED2(contains, error_of([&] { load_parallel(some); }), "t.tsv:201");
}

TEST_F(ParallelCorpusTest, Errors) {
  put("m/test.en", "x\n");
  put("m/test.de", "y\n");
  EXPECT_PRED2(contains, error_of([&] { load_parallel(request("m")); }), "no text to train on");
  put("e/train.en", "");
  put("e/train.de", "");
  EXPECT_PRED2(contains, error_of([&] { load_parallel(request("e")); }), "an empty text");
  EXPECT_PRED2(contains, error_of([&] { load_parallel(request("e", TextUnits::bytes)); }), "of 0 pairs");
  put("u/train.en", "x\ny\n");
  put("u/train.de", "x\n");
  const auto before = cached();
  const std::string error = error_of([&] { load_parallel(request("u", TextUnits::bytes)); });
  EXPECT_PRED2(contains, error, "u/train.en has 2 lines and ");
  EXPECT_PRED2(contains, error, "u/train.de 1");
  EXPECT_EQ(cached(), before);  // nothing half-made
}

// Most memory that this process had at once, in bytes.
int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  return 0;
}

TEST_F(ParallelCorpusTest, MemoryDoesNotGrowWithTheText) {
  const auto write = [&](const char* name, int64_t lines) {
    OutputStream file(path(name));
    std::string line;
    for (int64_t i = 0; i < lines; ++i) {
      line = "line " + std::to_string(i);
      for (int64_t word = 0; word < 20; ++word) line += " word" + std::to_string((i * 31 + word) % 1000);
      file.write(line + "\n");
    }
    file.commit();
  };
  constexpr int64_t kLines = 60'000;  // 10 MB a side
  for (const char* name : {"large.en.gz", "large.de.gz"}) write(name, kLines);
  ParallelRequest large = request("large");
  large.input.units = TextUnits::bytes;
  if (const auto clear = std::ofstream("/proc/self/clear_refs") << 5; !clear)
    GTEST_SKIP() << "the peak of the memory cannot be reset";
  const int64_t before = peak_memory();
  const ParallelCorpus corpus = load_parallel(large);
  EXPECT_EQ(corpus.train.size(), kLines);
  EXPECT_GT(corpus.train.source.text().size(), 9'000'000);
  // Of the mapped files the pages that were touched count: they are the kernel's to take back.
  const int64_t mapped = 2 * (corpus.train.source.text().size() + corpus.train.target.text().size());
  EXPECT_LT(peak_memory() - before, mapped + 10'000'000);
}

}  // namespace
}  // namespace mega::data
