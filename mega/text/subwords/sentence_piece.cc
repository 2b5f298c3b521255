#include "mega/text/subwords/sentence_piece.h"

#include <algorithm>
#include <array>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/text/subwords/piece_encoder.h"
#include "mega/text/subwords/sentence_piece_model.h"

namespace mega {
namespace {

// More than a million pieces take.
constexpr size_t kLargestModel = size_t{64} << 20;
// Bytes of a line that are cut at once, so that memory does not grow with the line.
constexpr size_t kLongestPart = size_t{1} << 20;

std::string with_blanks(std::string_view piece) {
  std::string text;
  while (true) {
    const size_t blank = piece.find(kPieceBlank);
    text += piece.substr(0, blank);
    if (blank == std::string_view::npos) return text;
    text += ' ';
    piece.remove_prefix(blank + kPieceBlank.size());
  }
}

// Takes the characters that pieces are made of off the front of the line, with blanks as pieces have them: up
// to a byte that is no UTF-8, the character that pieces have for a blank, or as many as are cut at once.
std::string take_characters(std::string_view& line) {
  std::string text;
  const size_t rest = line.size() - std::min(line.size(), kLongestPart);
  while (line.size() > rest) {
    const size_t length = utf8_length(line);
    const std::string_view character = line.substr(0, length);
    if (length == 0 || character == kPieceBlank) break;
    text += character == " " ? kPieceBlank : character;
    line.remove_prefix(length);
  }
  return text;
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string_view bytes, const std::string& where) : bytes_(bytes) {
    const SentencePieceModel model = read_sentence_piece_model(bytes_, where);
    encoder_ = model.algorithm == PieceAlgorithm::bpe ? make_bpe_encoder(model) : make_unigram_encoder(model);
    for (const auto& piece : model.pieces) {
      const bool has_text = piece.type != PieceType::unknown && piece.type != PieceType::control;
      tokens_.push_back(has_text ? static_cast<Token>(size()) : kUnknown);
      if (has_text) texts_.push_back(with_blanks(piece.text));
    }
    for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
      byte_tokens_[byte] = tokens_[static_cast<size_t>(model.byte_pieces[byte])];
      texts_[static_cast<size_t>(byte_tokens_[byte] - kFirstSymbol)] =
          std::string(1, static_cast<char>(byte));
    }
  }

  int64_t size() const override { return kFirstSymbol + std::ssize(texts_); }

  void encode_line(std::string_view line, std::vector<Token>& tokens) const override {
    append(line, SIZE_MAX, tokens);
  }

  std::string vocabulary() const override { return bytes_; }

 protected:
  std::string symbol_text(Token token, bool /*begins_line*/) const override {
    if (token == kUnknown) return std::string(kReplacement);
    return texts_[static_cast<size_t>(token - kFirstSymbol)];
  }

  void encode_text(std::string_view text, size_t most, std::vector<Token>& tokens) const override {
    append(as_line(text), most, tokens);
  }

 private:
  // All tokens of a line, or at least `most` of them.
  void append(std::string_view line, size_t most, std::vector<Token>& tokens) const {
    std::vector<int32_t> pieces;
    while (!line.empty() && tokens.size() < most) {
      const std::string text = take_characters(line);
      if (text.empty()) {
        tokens.push_back(byte_tokens_[static_cast<unsigned char>(line[0])]);
        line.remove_prefix(1);
        continue;
      }
      pieces.clear();
      encoder_->encode(text, pieces);
      for (const int32_t piece : pieces) tokens.push_back(tokens_[static_cast<size_t>(piece)]);
    }
  }

  const std::string bytes_;
  std::unique_ptr<PieceEncoder> encoder_;
  std::vector<Token> tokens_;       // by SentencePiece's number
  std::vector<std::string> texts_;  // by token
  std::array<Token, 256> byte_tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentence_piece_tokenizer(std::string_view model, const std::string& where) {
  return std::make_unique<SentencePieceTokenizer>(model, where);
}

std::unique_ptr<Tokenizer> load_sentence_piece_tokenizer(const TokenizerOptions& options) {
  const MappedFile file(options.model);
  const auto bytes = file.bytes();
  require(bytes.size() <= kLargestModel, options.model, ": ", human_bytes(bytes.size()),
          " are more than a model of SentencePiece has; expected at most ", human_bytes(kLargestModel));
  auto tokenizer = make_sentence_piece_tokenizer({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                                 options.model);
  require(options.vocabulary == 0 || tokenizer->size() <= options.vocabulary, options.model, ": it has ",
          tokenizer->size(), " token types, but input.vocabulary allows ", options.vocabulary,
          "; set input.vocabulary=0");
  return tokenizer;
}

}  // namespace mega
