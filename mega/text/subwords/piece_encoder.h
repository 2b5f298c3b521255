// Cutting a text into the pieces of a model as SentencePiece does it, to the last bit of its sums: a model
// learns from tokens that other programs make too.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "mega/text/subwords/sentence_piece_model.h"

namespace mega {

// Immutable; safe to use from many threads. Does not need the model afterwards.
class PieceEncoder {
 public:
  virtual ~PieceEncoder() = default;

  // Appends the numbers of the pieces. The text is UTF-8 with blanks as kPieceBlank, and shorter than 2^31
  // bytes. A character that no piece has becomes the pieces of its bytes.
  virtual void encode(std::string_view text, std::vector<int32_t>& pieces) const = 0;
};

// The most likely of all ways to cut the text: the greatest sum of scores.
std::unique_ptr<PieceEncoder> make_unigram_encoder(const SentencePieceModel& model);

// Byte pair encoding: of two neighbours that make a piece, those with the greatest score become one, until no
// two do.
std::unique_ptr<PieceEncoder> make_bpe_encoder(const SentencePieceModel& model);

}  // namespace mega
