#include "mega/config/sentence_piece.h"

#include <sentencepiece_processor.h>

#include <array>
#include <cstdio>

#include "mega/base/error.h"
#include "mega/config/tokens.h"
#include "mega/config/utf8.h"

namespace mega {
namespace {

// How SentencePiece writes a blank.
constexpr std::string_view kBlank = "\u2581";
// What it puts in the place of unknown characters; a training text that has it is refused.
constexpr std::string_view kPlaceholder = "\u2585";

bool is_kept_by_sentence_piece(std::string_view character) {
  // No piece ever has a tab or a NUL: a tab separates pieces in training.
  return character == kBlank || character == kPlaceholder || character[0] == '\t' || character[0] == '\0';
}

std::string with_blanks(std::string_view piece) {
  std::string text;
  while (true) {
    const size_t blank = piece.find(kBlank);
    text += piece.substr(0, blank);
    if (blank == std::string_view::npos) return text;
    text += ' ';
    piece.remove_prefix(blank + kBlank.size());
  }
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string_view model, const std::string& where) : model_(model) {
    const auto status = processor_.LoadFromSerializedProto(model);
    require(status.ok(), where, ": not a model of SentencePiece: ", status.message());
    number_pieces(where);
    // A model that was cut off, or was made with other settings, can load without a word and lose text.
    constexpr std::string_view kProbe = "  Two  blanks,\ttab, \u00e9, \U0001F600, \uFF21 \xff ";
    require(decode(encode(kProbe)) == kProbe, where,
            ": the model of SentencePiece does not keep a text as it is; it is damaged or was not made here");
  }

  int64_t size() const override { return kFirstSymbol + static_cast<int64_t>(texts_.size()); }

  void encode_line(std::string_view line, std::vector<int32_t>& tokens) const override {
    std::vector<int> ids;
    while (!line.empty()) {
      const size_t readable = readable_prefix(line);
      if (readable == 0) {
        tokens.push_back(byte_tokens_[static_cast<unsigned char>(line[0])]);
        line.remove_prefix(1);
        continue;
      }
      const auto status = processor_.Encode(line.substr(0, readable), &ids);
      require(status.ok(), "SentencePiece cannot cut a text of ", readable, " bytes: ", status.message());
      for (const int id : ids) tokens.push_back(tokens_[static_cast<size_t>(id)]);
      line.remove_prefix(readable);
    }
  }

  std::string vocabulary() const override { return model_; }

 protected:
  std::string symbol_text(int32_t token, bool /*begins_line*/) const override {
    if (token == kUnknown) return std::string(kReplacement);
    return texts_[static_cast<size_t>(token - kFirstSymbol)];
  }

 private:
  void number_pieces(const std::string& where) {
    for (int id = 0; id < processor_.GetPieceSize(); ++id) {
      const bool has_text = !processor_.IsUnknown(id) && !processor_.IsControl(id);
      tokens_.push_back(has_text ? static_cast<int32_t>(size()) : kUnknown);
      if (has_text) texts_.push_back(with_blanks(processor_.IdToPiece(id)));
    }
    for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
      std::array<char, 8> name;
      std::snprintf(name.data(), name.size(), "<0x%02X>", static_cast<unsigned>(byte));
      const int id = processor_.PieceToId(name.data());
      require(processor_.IsByte(id), where, ": the model of SentencePiece has no piece ", name.data(),
              "; it is damaged or was not made here");
      byte_tokens_[byte] = tokens_[static_cast<size_t>(id)];
      texts_[static_cast<size_t>(byte_tokens_[byte] - kFirstSymbol)] =
          std::string(1, static_cast<char>(byte));
    }
  }

  const std::string model_;
  sentencepiece::SentencePieceProcessor processor_;
  std::vector<int32_t> tokens_;     // by SentencePiece's number
  std::vector<std::string> texts_;  // by token
  std::array<int32_t, 256> byte_tokens_;
};

}  // namespace

size_t readable_prefix(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    const size_t length = utf8_length(text.substr(end));
    if (length == 0 || is_kept_by_sentence_piece(text.substr(end, length))) break;
    end += length;
  }
  return end;
}

std::unique_ptr<Tokenizer> make_sentence_piece_tokenizer(std::string_view model, const std::string& where) {
  return std::make_unique<SentencePieceTokenizer>(model, where);
}

}  // namespace mega
