#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/strings.h"
#include "mega/base/system/child_process.h"
#include "mega/base/utf8.h"
#include "mega/text/line_sample.h"
#include "mega/text/subwords/sentence_piece.h"
#include "mega/text/subwords/sentence_piece_model.h"
#include "mega/text/tokens.h"

namespace mega {
namespace {

// SentencePiece chooses among a million candidates; it would reserve memory for all that it is asked for.
constexpr int64_t kMostTypes = 1'000'000;
// SentencePiece leaves out lines of more than 4192 bytes.
constexpr size_t kLongestLine = 4096;

// The bytes at the begin of a text that SentencePiece can learn from, up to a byte that is no UTF-8, or a
// character that it keeps for itself.
size_t learnable_prefix(std::string_view text) {
  // What SentencePiece puts in the place of unknown characters; it leaves out lines that have it.
  constexpr std::string_view kPlaceholder = "\u2585";
  size_t end = 0;
  while (end < text.size()) {
    const size_t length = utf8_length(text.substr(end));
    const std::string_view character = text.substr(end, length);
    if (length == 0 || character == kPieceBlank || character == kPlaceholder) break;
    // No piece ever has a tab or a NUL: a tab separates pieces in training.
    if (character[0] == '\t' || character[0] == '\0') break;
    end += length;
  }
  return end;
}

std::string last_lines(std::string_view text, size_t count) {
  const std::vector<std::string> lines = split(trim(text), '\n');
  return join(std::span(lines).last(std::min(count, lines.size())), "; ");
}

class SentencePieceBuilder final : public TokenizerBuilder {
 public:
  SentencePieceBuilder(const TokenizerOptions& options, size_t sample)
      : types_(options.vocabulary == 0 ? kUsualPieces : std::min(options.vocabulary, kMostTypes)),
        sample_(sample) {
    constexpr int64_t kAlways = kFirstSymbol + 256;
    require(types_ > kAlways, "a vocabulary of ", types_, " has no room for pieces beside the ", kAlways,
            " specials and bytes; ask for more");
  }

  void add_line(std::string_view line) override {
    while (!line.empty()) {
      const size_t length = learnable_prefix(line.substr(0, kLongestLine));
      if (length > 0) sample_.add(line.substr(0, length));
      line.remove_prefix(std::max<size_t>(length, 1));
    }
  }

  std::unique_ptr<Tokenizer> finish() override {
    require(
        !sample_.lines().empty(),
        "the training text has nothing that SentencePiece can learn from: it is empty, or no UTF-8; bytes "
        "of any kind are read with --set input.units=bytes");
    const TemporaryFolder folder;
    write_sample(folder.path() / "lines.txt");
    const auto end = run_program(command(), folder.path());
    require(
        end.has_value(),
        "no program spm_train, which learns pieces, is on PATH; install the package sentencepiece, or name "
        "a model that was learnt elsewhere: input.model=FILE; or read bytes: --set input.units=bytes");
    require(end->ok, "SentencePiece cannot learn a vocabulary of ", types_,
            " from the training text (spm_train: ", end->how, "): ", last_lines(end->output, 3));
    return make_sentence_piece_tokenizer(read_file(folder.path() / "pieces.model"),
                                         "the vocabulary of the training text");
  }

 private:
  void write_sample(const std::filesystem::path& path) const {
    AtomicFile file(path);
    std::string text;
    for (const auto& line : sample_.lines()) text += line.text + '\n';
    file.write(text);
    file.commit();
  }

  // Names without a folder: spm_train would take a comma in one for the end of the name.
  std::vector<std::string> command() const {
    return {
        "spm_train",
        "--input=lines.txt",
        "--model_prefix=pieces",
        "--model_type=unigram",
        "--vocab_size=" + std::to_string(types_ - kFirstSymbol + 1),  // of the specials it has <unk> alone
        "--bos_id=-1",
        "--eos_id=-1",
        "--pad_id=-1",
        "--hard_vocab_limit=false",
        "--character_coverage=0.9995",
        "--byte_fallback=true",
        "--required_chars=\u2581",  // a blank must be a piece: its bytes would be those of this character
        "--normalization_rule_name=identity",
        "--remove_extra_whitespaces=false",
        "--add_dummy_prefix=false",
        "--num_threads=4",  // a fixed number: sums are rounded differently with another
        "--minloglevel=0",  // a program that prints ends with us
    };
  }

  const int64_t types_;
  LineSample sample_;
};

}  // namespace

std::unique_ptr<TokenizerBuilder> make_sentence_piece_builder(const TokenizerOptions& options,
                                                              size_t sample) {
  return std::make_unique<SentencePieceBuilder>(options, sample);
}

}  // namespace mega
