// What stands in a model file of SentencePiece: its pieces, and how a text is cut into them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "mega/text/subwords/piece_trie.h"

namespace mega {

// How SentencePiece writes a blank within pieces.
inline constexpr std::string_view kPieceBlank = "\u2581";

// The numbers of the file format. Unknown and control pieces (<unk>, <s>) stand for no text; a byte piece is
// named "<0x41>"; those that the user defined are found in a text before all others.
enum class PieceType : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, byte = 6 };

enum class PieceAlgorithm : uint8_t { unigram = 1, bpe = 2 };

// Views into the bytes it was read from.
struct SentencePieceModel {
  struct Piece {
    std::string_view text;
    float score = 0;
    PieceType type = PieceType::normal;
  };

  PieceAlgorithm algorithm = PieceAlgorithm::unigram;
  std::vector<Piece> pieces;
  std::array<int32_t, 256> byte_pieces;  // the piece of each byte
};

// Error unless the model is whole and keeps every text as it is: nothing normalised, no blank added or taken
// away, a piece for each byte and one for the blank. `where` names it.
SentencePieceModel read_sentence_piece_model(std::string_view bytes, const std::string& where);

// The pieces of these types by their texts.
PieceTrie make_trie(const SentencePieceModel& model, std::initializer_list<PieceType> types);

}  // namespace mega
