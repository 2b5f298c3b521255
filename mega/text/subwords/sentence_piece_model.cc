#include "mega/text/subwords/sentence_piece_model.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/protobuf.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega {
namespace {

// Of no use as pieces, and a text that repeats one of them would take forever to cut. SentencePiece learns
// none of more than 512 characters.
constexpr size_t kLongestPiece = 4 * 512;

constexpr const char* kDamaged = ": not a model of SentencePiece, or a damaged one: ";

// Fields that decide what a text becomes; the values are those of a file that does not have them.
struct Settings {
  uint64_t algorithm = 1;
  bool has_character_table = false;
  bool adds_blank = true;
  bool removes_blanks = true;
  bool escapes_blanks = true;
};

// Little-endian, on any machine.
float read_float(std::string_view bytes) {
  uint32_t bits = 0;
  for (size_t i = 0; i < 4; ++i) bits |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return std::bit_cast<float>(bits);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// The byte that "<0x41>" stands for.
std::optional<uint8_t> byte_of_name(std::string_view name) {
  if (name.size() != 6 || !name.starts_with("<0x") || name.back() != '>') return std::nullopt;
  uint8_t byte = 0;
  const char* const end = name.data() + 5;
  const auto result = std::from_chars(name.data() + 3, end, byte, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return byte;
}

class ModelReader {
 public:
  explicit ModelReader(const std::string& where) : where_(where) { model_.byte_pieces.fill(-1); }

  SentencePieceModel read(std::string_view bytes) {
    for_fields(bytes, [this](const ProtobufField& field) {
      if (field.is(1, WireType::bytes)) read_piece(field.bytes);
      if (field.is(2, WireType::bytes)) read_trainer(field.bytes);
      if (field.is(3, WireType::bytes)) read_normalizer(field.bytes);
    });
    check_settings();
    check_pieces();
    return std::move(model_);
  }

 private:
  template <class Action>
  void for_fields(std::string_view message, const Action& action) const {
    ProtobufReader reader(message);
    while (const auto field = reader.next()) action(*field);
    require(!reader.damaged(), where_, kDamaged, "its fields are cut off or make no sense");
  }

  void read_piece(std::string_view message) {
    SentencePieceModel::Piece piece;
    uint64_t type = static_cast<uint64_t>(PieceType::normal);
    for_fields(message, [&](const ProtobufField& field) {
      if (field.is(1, WireType::bytes)) piece.text = field.bytes;
      if (field.is(2, WireType::fixed32)) piece.score = read_float(field.bytes);
      if (field.is(3, WireType::varint)) type = field.value;
    });
    const size_t number = model_.pieces.size();
    require(!piece.text.empty() && piece.text.size() <= kLongestPiece && is_utf8(piece.text), where_,
            kDamaged, "piece ", number, " is ", in_quotes(piece.text), ", expected 1 to ", kLongestPiece,
            " bytes of UTF-8");
    require((type >= 1 && type <= 4) || type == 6, where_, kDamaged, "piece ", number, ", ",
            in_quotes(piece.text), ", is of type ", type,
            ", expected 1 to 4 or 6 (normal, unknown, control, user-defined, byte)");
    require(std::isfinite(piece.score), where_, kDamaged, "piece ", number, ", ", in_quotes(piece.text),
            ", has the score ", piece.score, ", expected a finite one");
    piece.type = static_cast<PieceType>(type);
    if (piece.type == PieceType::byte) note_byte(piece.text);
    model_.pieces.push_back(piece);
  }

  void note_byte(std::string_view name) {
    const auto byte = byte_of_name(name);
    require(byte.has_value(), where_, kDamaged, "a byte is named ", in_quotes(name),
            ", expected a name like \"<0x41>\"");
    require(model_.byte_pieces[*byte] < 0, where_, kDamaged, "the byte ", name, " is there twice");
    model_.byte_pieces[*byte] = static_cast<int32_t>(model_.pieces.size());
  }

  void read_trainer(std::string_view message) {
    for_fields(message, [this](const ProtobufField& field) {
      if (field.is(3, WireType::varint)) settings_.algorithm = field.value;
    });
  }

  void read_normalizer(std::string_view message) {
    for_fields(message, [this](const ProtobufField& field) {
      if (field.is(2, WireType::bytes)) settings_.has_character_table = !field.bytes.empty();
      if (field.is(3, WireType::varint)) settings_.adds_blank = field.value != 0;
      if (field.is(4, WireType::varint)) settings_.removes_blanks = field.value != 0;
      if (field.is(5, WireType::varint)) settings_.escapes_blanks = field.value != 0;
    });
  }

  void check_settings() {
    require(!model_.pieces.empty(), where_, kDamaged, "it has no pieces");
    const auto expect = [this](bool ok, const char* what, const char* option) {
      require(ok, where_, ": this model of SentencePiece ", what, "; learn it with ", option);
    };
    expect(settings_.algorithm == 1 || settings_.algorithm == 2, "is of another type than unigram and bpe",
           "--model_type=unigram");
    expect(!settings_.has_character_table, "replaces characters, so that a text does not come back as it was",
           "--normalization_rule_name=identity");
    expect(!settings_.adds_blank, "puts a blank before every text", "--add_dummy_prefix=false");
    expect(!settings_.removes_blanks, "removes blanks", "--remove_extra_whitespaces=false");
    expect(settings_.escapes_blanks, "does not write blanks as \u2581", "spm_train, which does");
    expect(std::ranges::find(model_.byte_pieces, -1) == model_.byte_pieces.end(),
           "has no pieces for all bytes, so that rare characters are lost", "--byte_fallback=true");
    model_.algorithm = static_cast<PieceAlgorithm>(settings_.algorithm);
  }

  void check_pieces() const {
    std::vector<std::string_view> texts;
    for (const auto& piece : model_.pieces)
      if (piece.type == PieceType::normal || piece.type == PieceType::user_defined)
        texts.push_back(piece.text);
    std::ranges::sort(texts);
    const auto twice = std::ranges::adjacent_find(texts);
    require(twice == texts.end(), where_, kDamaged, "the piece ",
            in_quotes(twice == texts.end() ? "" : *twice), " is there twice");
    // The bytes of an unknown blank would be those of the character that stands for it.
    require(std::ranges::binary_search(texts, kPieceBlank), where_,
            ": this model of SentencePiece has no piece for a blank; learn it with --required_chars=\u2581");
  }

  const std::string& where_;
  SentencePieceModel model_;
  Settings settings_;
};

}  // namespace

SentencePieceModel read_sentence_piece_model(std::string_view bytes, const std::string& where) {
  return ModelReader(where).read(bytes);
}

PieceTrie make_trie(const SentencePieceModel& model, std::initializer_list<PieceType> types) {
  std::vector<PieceTrie::Entry> entries;
  for (size_t i = 0; i < model.pieces.size(); ++i)
    if (std::ranges::find(types, model.pieces[i].type) != types.end())
      entries.push_back({model.pieces[i].text, static_cast<int32_t>(i)});
  return PieceTrie(std::move(entries));
}

}  // namespace mega
