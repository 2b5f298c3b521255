#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>

#include "mega/base/error.h"
#include "mega/config/line_sample.h"
#include "mega/config/sentence_piece.h"
#include "mega/config/tokens.h"

namespace mega {
namespace {

constexpr size_t kSampleBytes = size_t{64} << 20;
// SentencePiece leaves out lines of more than 4192 bytes.
constexpr size_t kLongestLine = 4096;

class SampleIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit SampleIterator(const LineSample& sample)
      : at_(sample.lines().begin()), end_(sample.lines().end()) {}

  bool done() const override { return at_ == end_; }
  void Next() override { ++at_; }
  const std::string& value() const override { return at_->text; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<LineSample::Line>::const_iterator at_;
  const std::vector<LineSample::Line>::const_iterator end_;
};

class SentencePieceBuilder final : public TokenizerBuilder {
 public:
  explicit SentencePieceBuilder(const LanguageInput& options)
      : types_(options.vocabulary == 0 ? kUsualPieces : options.vocabulary) {
    constexpr int64_t kAlways = kFirstSymbol + 256;
    require(types_ > kAlways, "a vocabulary of ", types_, " has no room for pieces beside the ", kAlways,
            " specials and bytes; ask for more");
  }

  void add_line(std::string_view line) override {
    while (!line.empty()) {
      const size_t length = readable_prefix(line.substr(0, kLongestLine));
      if (length > 0) sample_.add(line.substr(0, length));
      line.remove_prefix(std::max<size_t>(length, 1));
    }
  }

  std::unique_ptr<Tokenizer> finish() override {
    require(!sample_.lines().empty(),
            "the training text has nothing that SentencePiece can learn from: it is "
            "empty, or no UTF-8");
    const std::unordered_map<std::string, std::string> settings = {
        {"model_type", "unigram"},
        {"vocab_size", std::to_string(types_ - kFirstSymbol + 1)},  // of the specials it has <unk> alone
        {"bos_id", "-1"},
        {"eos_id", "-1"},
        {"pad_id", "-1"},
        {"hard_vocab_limit", "false"},
        {"character_coverage", "0.9995"},
        {"byte_fallback", "true"},
        {"required_chars", "\u2581"},  // a blank must be a piece: its bytes would be those of this character
        {"normalization_rule_name", "identity"},
        {"remove_extra_whitespaces", "false"},
        {"add_dummy_prefix", "false"},
        {"num_threads", "4"},  // a fixed number: sums are rounded differently with another
        {"minloglevel", "3"},
    };
    SampleIterator lines(sample_);
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &lines, &model);
    require(status.ok(), "SentencePiece cannot learn a vocabulary of ", types_,
            " from the training text: ", status.message());
    return make_sentence_piece_tokenizer(model, "the vocabulary of the training text");
  }

 private:
  const int64_t types_;
  LineSample sample_{kSampleBytes};
};

}  // namespace

std::unique_ptr<TokenizerBuilder> make_sentence_piece_builder(const LanguageInput& options) {
  return std::make_unique<SentencePieceBuilder>(options);
}

}  // namespace mega
