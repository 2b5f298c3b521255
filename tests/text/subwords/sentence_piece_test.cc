#include "mega/text/subwords/sentence_piece.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "mega/base/files/file.h"
#include "mega/base/random.h"
#include "mega/base/system/child_process.h"
#include "mega/text/line_sample.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

// Random bits by number.
uint64_t bits(uint64_t number) { return stream_seed(5, "sentence_piece_test", number); }

// A small language: words of two or three of its syllables.
std::string sentence(uint64_t number) {
  const std::vector<std::string> syllables = {"ka", "to", "mi", "re", "sun", "vel", "dor", "é", "ni", "gal"};
  std::string text;
  for (uint64_t word = 0; word < 10; ++word) {
    if (word > 0) text += ' ';
    for (uint64_t n = 2 + bits(number * 100 + word) % 2; n-- > 0;)
      text += syllables[bits(number * 100 + word % 5 + n) % syllables.size()];
  }
  return text;
}

std::unique_ptr<Tokenizer> learn(int64_t vocabulary, uint64_t lines = 300) {
  const auto builder = make_tokenizer_builder({.units = TextUnits::sentencepiece, .vocabulary = vocabulary});
  for (uint64_t i = 0; i < lines; ++i) builder->add_line(sentence(i));
  return builder->finish();
}

std::unique_ptr<Tokenizer> load(std::string_view model) {
  return make_tokenizer(TextUnits::sentencepiece, model, "model.bin");
}

const Tokenizer& shared() {
  static const std::unique_ptr<Tokenizer> tokenizer = learn(400);
  return *tokenizer;
}

bool has_program(const char* name) {
  return run_program({name, "--help"}, std::filesystem::temp_directory_path()).has_value();
}

// Tests that need what SentencePiece learns.
class LearntPieces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_program("spm_train")) GTEST_SKIP() << "no program spm_train on PATH";
  }
};

// Protocol Buffers, written by hand.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}

std::string field(uint64_t number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}

std::string field(uint64_t number, uint64_t value) { return varint(number << 3) + varint(value); }

std::string piece(const std::string& text, float score, uint64_t type = 1) {
  std::string number(4, '\0');
  std::memcpy(number.data(), &score, 4);
  return field(1, field(1, text) + varint(2 << 3 | 5) + number + field(3, type));
}

// A model of the given pieces beside <unk>, the bytes and the blank. Type 1: unigram, 2: BPE.
std::string model_of(const std::string& pieces, uint64_t type = 1, const std::string& normalizer = "") {
  std::string model = piece("<unk>", 0, 2);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    model += piece(name, 0, 6);
  }
  model += piece("\u2581", -5);
  const std::string keep = field(3, uint64_t{0}) + field(4, uint64_t{0});
  return model + pieces + field(2, field(3, type)) + field(3, keep + normalizer);
}

// The pieces of a text, in the way they are written there.
std::string cut(const std::string& model, const std::string& text) {
  const auto tokenizer = load(model);
  std::string parts;
  for (const int32_t token : tokenizer->encode(text)) parts += tokenizer->text(token, false) + "|";
  return parts;
}

TEST(SentencePiece, UnigramTakesTheGreatestSum) {
  const std::string model = model_of(piece("a", -1) + piece("b", -1) + piece("ab", -3) + piece("bc", -0.5F) +
                                     piece("c", -9) + piece("abab", -3.5F));
  EXPECT_EQ(cut(model, "ab"), "a|b|");
  EXPECT_EQ(cut(model, "abc"), "a|bc|");
  EXPECT_EQ(cut(model, "abab"), "abab|");
  EXPECT_EQ(cut(model, "a b"), "a| |b|");
  EXPECT_EQ(cut(model, "\u00e9a"), "\xc3|\xa9|a|") << "bytes of an unknown character";
}

TEST(SentencePiece, BpeMergesTheGreatestScoreFirst) {
  const std::string letters = piece("a", -10) + piece("b", -11) + piece("c", -12);
  const std::string model = model_of(letters + piece("bc", -1) + piece("ab", -2) + piece("aa", -3), 2);
  EXPECT_EQ(cut(model, "abc"), "a|bc|");
  EXPECT_EQ(cut(model, "aaa"), "aa|a|") << "the leftmost of equals";
  EXPECT_EQ(cut(model, "abab"), "ab|ab|");
  EXPECT_EQ(cut(model, "a\u00e9"), "a|\xc3|\xa9|");
}

TEST(SentencePiece, PiecesOfTheUserAreFoundFirst) {
  for (const uint64_t type : {1, 2}) {
    const std::string model = model_of(piece("a", -1) + piece("b", -1) + piece("c", -1) + piece("ab", -1.5F) +
                                           piece("bc", 0, 4) + piece("bcc", 0, 4),
                                       type);
    EXPECT_EQ(cut(model, "abc"), "a|bc|");
    EXPECT_EQ(cut(model, "abcca"), "a|bcc|a|");
  }
}

TEST(SentencePiece, ModelsOfOtherSettingsAreRefusedWithTheRightOnes) {
  const auto error = [](const std::string& model) { return error_of([&] { load(model); }); };
  EXPECT_NO_THROW(load(model_of("")));
  EXPECT_NO_THROW(load(model_of("", 1, field(2, ""))));
  EXPECT_PRED2(contains, error(model_of("", 1, field(2, "table"))), "--normalization_rule_name=identity");
  EXPECT_PRED2(contains, error(model_of("", 1, field(3, uint64_t{1}))), "--add_dummy_prefix=false");
  EXPECT_PRED2(contains, error(model_of("", 1, field(4, uint64_t{1}))), "--remove_extra_whitespaces=false");
  EXPECT_PRED2(contains, error(model_of("", 1, field(5, uint64_t{0}))), "does not write blanks");
  EXPECT_PRED2(contains, error(model_of("", 3)), "--model_type=unigram");
  const std::string all = model_of("");
  const size_t first_byte = piece("<unk>", 0, 2).size();
  EXPECT_PRED2(contains, error(piece("a", 0) + all.substr(first_byte + piece("<0x00>", 0, 6).size())),
               "--byte_fallback=true");
  std::string no_blank = all;
  no_blank[all.find("\u2581") + 2] = '\x82';
  EXPECT_PRED2(contains, error(no_blank), "--required_chars=\u2581");
}

TEST(SentencePiece, PiecesThatMakeNoSenseAreErrors) {
  const auto error = [](const std::string& pieces) { return error_of([&] { load(model_of(pieces)); }); };
  EXPECT_PRED2(contains, error(piece("a", NAN)), "finite");
  EXPECT_PRED2(contains, error(piece("a", -INFINITY)), "finite");
  EXPECT_PRED2(contains, error(piece("ab", 1) + piece("ab", 2, 4)),
               "model.bin: not a model of SentencePiece, "
               "or a damaged one: the piece \"ab\" is there twice");
  EXPECT_PRED2(contains, error(piece("<0x41>", 0, 6)), "<0x41> is there twice");
  EXPECT_PRED2(contains, error(piece("<0x4G>", 0, 6)), "a name like");
  EXPECT_PRED2(contains, error(piece("", 0)), "piece 258");
  EXPECT_PRED2(contains, error(piece("\xc3", 0)), "UTF-8");
  EXPECT_PRED2(contains, error(piece(std::string(3000, 'a'), 0)), "2048");
  EXPECT_PRED2(contains, error(piece("a", 0, 5)), "type 5");
  EXPECT_PRED2(contains, error(piece("a", 0, uint64_t{1} << 40)), "type 1099511627776");
}

TEST(SentencePiece, HostileLengthsAreErrors) {
  for (const std::string tail :
       {"\x0a\x7f", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x0a", "\x80",
        "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x0b", "\x02\x01x", "\x0d\x01"})
    EXPECT_PRED2(contains, error_of([&] { load(model_of("") + tail); }), "damaged");
  EXPECT_NO_THROW(load(model_of("") + field(200, "a field of the future") + field(201, uint64_t{7})));
}

TEST(SentencePiece, ScoresOfAnySizeCutEveryText) {
  for (const uint64_t type : {1, 2}) {
    const auto tokenizer = load(
        model_of(piece("a", 3e38F) + piece("aa", -3e38F) + piece("aaa", 3e38F) + piece("b", -3e38F), type));
    const std::string text = "aaaaaaabbbaab cab";
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(SentencePiece, AMegabyteWithoutABlankIsCut) {
  std::string pieces;
  for (size_t length = 1; length <= 16; ++length)
    pieces += piece(std::string(length, 'a'), -static_cast<float>(length));
  for (const uint64_t type : {1, 2}) {
    const auto tokenizer = load(model_of(pieces, type));
    const std::string text((size_t{1} << 20) + 1, 'a');
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(SentencePiece, AModelOfAFileNeedsNoText) {
  const ScratchFolder folder;
  const std::string model = model_of(piece("kato", -1));
  write_file(folder / "pieces.model", model);
  TokenizerOptions options{.units = TextUnits::sentencepiece, .model = (folder / "pieces.model").string()};
  const auto tokenizer = make_ready_tokenizer(options);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->vocabulary(), model);
  EXPECT_EQ(tokenizer->size(), 262);
  EXPECT_EQ(tokenizer->encode("katoA"), (std::vector<int32_t>{261, kFirstSymbol + 'A'}));

  options.vocabulary = 261;
  EXPECT_PRED2(contains, error_of([&] { make_ready_tokenizer(options); }), "it has 262 token types");
  options.units = TextUnits::words;
  EXPECT_PRED2(contains, error_of([&] { make_ready_tokenizer(options); }), "input.units=sentencepiece");
  EXPECT_EQ(make_ready_tokenizer({.units = TextUnits::sentencepiece}), nullptr);

  options = {.units = TextUnits::sentencepiece, .model = folder.path().string()};
  EXPECT_PRED2(contains, error_of([&] { make_ready_tokenizer(options); }), "not a regular file");
  options.model = (folder / "none").string();
  EXPECT_PRED2(contains, error_of([&] { make_ready_tokenizer(options); }), "none: cannot open");
  write_file(folder / "large", "");
  std::filesystem::resize_file(folder / "large", (uint64_t{64} << 20) + 1);
  options.model = (folder / "large").string();
  EXPECT_PRED2(contains, error_of([&] { make_ready_tokenizer(options); }), "at most 64");
}

TEST(SentencePiece, WithoutTheProgramTheErrorSaysWhatToInstall) {
  const char* const path = std::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  ::setenv("PATH", "/nonexistent", 1);
  const std::string error = error_of([] { learn(400); });
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_PRED2(
      contains, error,
      "install the package sentencepiece, or name a model that was learnt elsewhere: input.model=FILE");
  EXPECT_PRED2(contains, error, "--set input.units=bytes");
}

TEST_F(LearntPieces, TemporaryFilesAreRemoved) {
  const ScratchFolder folder;
  const char* const temporary = std::getenv("TMPDIR");
  const std::string before = temporary == nullptr ? "" : temporary;
  const std::filesystem::path with_comma = folder / "a,b";
  std::filesystem::create_directory(with_comma);
  ::setenv("TMPDIR", with_comma.c_str(), 1);
  EXPECT_EQ(learn(400)->vocabulary(), shared().vocabulary());
  EXPECT_THROW(learn(261), Error);
  if (temporary == nullptr)
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(with_comma));
}

// What SentencePiece's own program makes of the lines, as our tokens; `first` is its number of our first.
std::vector<std::vector<int32_t>> spm_encode(const std::filesystem::path& folder, const std::string& text,
                                             int32_t first) {
  write_file(folder / "text", text);
  const auto end = run_program(
      {"spm_encode", "--model=pieces.model", "--input=text", "--output=ids", "--output_format=id"}, folder);
  require(end.has_value() && end->ok, "spm_encode failed");
  std::vector<std::vector<int32_t>> lines;
  std::istringstream ids(read_file(folder / "ids"));
  for (std::string line; std::getline(ids, line);) {
    std::istringstream numbers(line);
    lines.emplace_back();
    for (int32_t id; numbers >> id;) lines.back().push_back(id - first + kFirstSymbol);
  }
  return lines;
}

TEST_F(LearntPieces, AgreeWithSpmEncode) {
  if (!has_program("spm_encode")) GTEST_SKIP() << "no program spm_encode on PATH";
  std::vector<std::string> lines;
  std::string text;
  for (uint64_t i = 0; i < 1'000; ++i) {
    std::string line = sentence(i + 500);
    for (uint64_t n = 0; n < 4; ++n) {  // doubled, unknown and swapped letters: many ways to cut
      const uint64_t random = bits(500'000 + i * 4 + n);
      line.insert(line.find(' ', random % (line.size() / 2)), random % 3 == 0 ? "漢\t  " : "katkaka mimimi");
    }
    lines.push_back(line);
    text += line + '\n';
  }
  const ScratchFolder folder;
  std::string training;
  for (uint64_t i = 0; i < 300; ++i) training += sentence(i) + '\n';
  write_file(folder / "lines", training);
  for (const char* type : {"unigram", "bpe"}) {
    const auto end = run_program(
        {"spm_train", "--input=lines", "--model_prefix=pieces", "--vocab_size=350", "--byte_fallback=true",
         std::string("--model_type=") + type, "--normalization_rule_name=identity",
         "--remove_extra_whitespaces=false", "--add_dummy_prefix=false", "--hard_vocab_limit=false",
         "--user_defined_symbols=mik,tok", "--num_threads=2"},
        folder.path());
    ASSERT_TRUE(end.has_value() && end->ok) << end->output;
    const auto tokenizer = load(read_file(folder / "pieces.model"));
    const auto expected = spm_encode(folder.path(), text, 3);  // after <unk>, <s> and </s>
    ASSERT_EQ(expected.size(), lines.size());
    for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(tokenizer->encode(lines[i]), expected[i]) << lines[i];
  }
}

TEST_F(LearntPieces, LearnsPiecesLongerThanLetters) {
  EXPECT_EQ(shared().size(), 400);
  const std::string text = sentence(1'000);
  EXPECT_LT(shared().encode(text).size(), text.size() / 2) << text;
}

TEST_F(LearntPieces, TokensAreSpecialsThenBytesThenPieces) {
  EXPECT_EQ(shared().text(kStart, true), "");
  EXPECT_EQ(shared().text(kEnd, false), "\n");
  EXPECT_EQ(shared().text(kUnknown, false), "\uFFFD");
  EXPECT_EQ(shared().text(kFirstSymbol + 'A', true), "A");
  EXPECT_EQ(shared().text(kFirstSymbol + 255, true), "\xff");
  EXPECT_THROW(shared().text(400, true), Error);
  const auto blank = shared().encode(" ");
  ASSERT_EQ(blank.size(), 1u);
  EXPECT_GE(blank[0], kFirstSymbol + 256) << "frequent in the text";
  EXPECT_EQ(shared().text(blank[0], true), " ") << "also where a line begins";
}

TEST_F(LearntPieces, NamesOfSpecialsAreOrdinaryText) {
  for (const char* text : {"<unk>", "<s>", "</s>", "<pad>", "<0x41>"}) {
    for (const int32_t token : shared().encode(text)) EXPECT_GE(token, kFirstSymbol) << text;
    EXPECT_EQ(shared().decode(shared().encode(text)), text);
  }
}

TEST_F(LearntPieces, EveryTextComesBackAsItWas) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "\n"sv, " "sv, "   "sv, " kato"sv, "kato "sv, "  kato   mire\n\n  sun"sv, "a\tb\t\tc\r\n"sv,
        "\U0001F600\u200D\U0001F680"sv, "\uFF21\u00a0\u3000e\u0301\uFFFD\uFEFF"sv, "\u2581_\u2585"sv,
        "nul\0nul"sv, "\x80\xff kato\xc3"sv, "\xed\xa0\x80\xf4\x90\x80\x80"sv})
    EXPECT_EQ(shared().decode(shared().encode(text)), text);
}

TEST_F(LearntPieces, RandomTextComesBackAsItWas) {
  const std::vector<std::string> parts = {"ka",         "to ",    " ",  "\t",    "\u2581", "漢",
                                          "\U0001F600", "\u2585", "é",  "\n",    "\u00a0", "<",
                                          "\U000F1234", "0",      "\r", "\uFFFD"};
  for (uint64_t trial = 0; trial < 500; ++trial) {
    std::string valid;
    std::string bytes;
    for (uint64_t n = bits(trial) % 60; n-- > 0;) {
      const uint64_t random = bits(1'000 + trial * 60 + n);
      valid += parts[random % parts.size()];
      bytes += static_cast<char>(random >> 32);
    }
    EXPECT_EQ(shared().decode(shared().encode(valid)), valid);
    EXPECT_EQ(shared().decode(shared().encode(bytes)), bytes);
  }
}

TEST_F(LearntPieces, TheSameTextGivesTheSameModel) {
  EXPECT_EQ(learn(400)->vocabulary(), shared().vocabulary());
  EXPECT_NE(learn(400, 299)->vocabulary(), shared().vocabulary());
}

TEST_F(LearntPieces, TheSavedModelIsTheSameTokenizer) {
  const auto again = load(shared().vocabulary());
  EXPECT_EQ(again->size(), shared().size());
  EXPECT_EQ(again->vocabulary(), shared().vocabulary());
  EXPECT_EQ(again->encode(sentence(7)), shared().encode(sentence(7)));
}

TEST_F(LearntPieces, ManyThreadsReadOneTokenizer) {
  const auto expected = shared().encode(sentence(3));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t i = 0; i < wrong.size(); ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) wrong[i] += shared().encode(sentence(3)) != expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST_F(LearntPieces, ATextTooSmallGivesASmallerVocabulary) {
  const auto builder =
      make_tokenizer_builder({.units = TextUnits::sentencepiece, .vocabulary = int64_t{1} << 30});
  builder->add_line("a");
  const auto tokenizer = builder->finish();
  EXPECT_GT(tokenizer->size(), 260);
  EXPECT_LT(tokenizer->size(), 300);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a b")), "a b");
}

TEST(SentencePiece, TextsThatItCannotLearnFromAreErrors) {
  for (const std::string_view text : {std::string_view(""), std::string_view("\t\xff\u2581\u2585\0", 9)}) {
    const auto builder = make_tokenizer_builder({.units = TextUnits::sentencepiece});
    builder->add_line(text);
    EXPECT_PRED2(contains, error_of([&] { builder->finish(); }), "nothing that SentencePiece can learn from");
  }
}

TEST_F(LearntPieces, VocabulariesTooSmallAreErrors) {
  EXPECT_PRED2(contains, error_of([] { learn(260); }), "260 has no room for pieces");
  EXPECT_PRED2(contains, error_of([] { learn(261); }), "cannot learn a vocabulary of 261");
}

TEST_F(LearntPieces, AVeryLongLineIsLearntInParts) {
  std::string line;
  for (uint64_t i = 0; i < 300; ++i) line += sentence(i) + " ";
  const auto builder = make_tokenizer_builder({.units = TextUnits::sentencepiece, .vocabulary = 400});
  builder->add_line(line);
  EXPECT_EQ(builder->finish()->size(), 400);
}

TEST_F(LearntPieces, DamagedModelsAreErrors) {
  EXPECT_PRED2(contains, error_of([] { load(""); }), "model.bin: ");
  EXPECT_PRED2(contains, error_of([] { load("no model"); }),
               "model.bin: not a model of SentencePiece, or a damaged one");
  const std::string model = shared().vocabulary();
  for (size_t length = 0; length < model.size(); length += 1 + length / 100)
    EXPECT_THROW(load(std::string_view(model).substr(0, length)), Error) << length;
  for (size_t missing = 1; missing < 100; ++missing)
    EXPECT_THROW(load(std::string_view(model).substr(0, model.size() - missing)), Error) << missing;
}

TEST_F(LearntPieces, ModelsWithWrongBytesDoNotCrash) {
  for (uint64_t trial = 0; trial < 300; ++trial) {
    std::string model = shared().vocabulary();
    for (uint64_t n = 0; n < 4; ++n) {
      const uint64_t random = bits(100'000 + trial * 4 + n);
      model[(random >> 8) % model.size()] = static_cast<char>(random);
    }
    try {
      load(model)->encode(sentence(trial));
    } catch (const Error&) {
    }
  }
}

TEST(LineSample, KeepsAllThatFits) {
  LineSample sample(1'000'000);
  for (int i = 0; i < 100; ++i) sample.add(std::to_string(i));
  ASSERT_EQ(sample.lines().size(), 100u);
  EXPECT_EQ(sample.lines()[42].text, "42");
}

TEST(LineSample, IsEvenAndBounded) {
  LineSample sample(100'000);
  for (int i = 0; i < 100'000; ++i) sample.add(std::to_string(i));
  size_t bytes = 0;
  size_t first_half = 0;
  for (const auto& line : sample.lines()) {
    bytes += line.text.size() + sizeof(line);
    first_half += std::stoi(line.text) < 50'000;
  }
  EXPECT_LE(bytes, 100'000u);
  EXPECT_GT(bytes, 40'000u);
  EXPECT_NEAR(static_cast<double>(first_half) / static_cast<double>(sample.lines().size()), 0.5, 0.05);
}

}  // namespace
}  // namespace mega
