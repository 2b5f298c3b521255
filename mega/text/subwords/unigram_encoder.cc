#include <algorithm>
#include <array>
#include <limits>

#include "mega/base/utf8.h"
#include "mega/text/subwords/piece_encoder.h"
#include "mega/text/subwords/piece_trie.h"

namespace mega {
namespace {

using Piece = SentencePieceModel::Piece;

class UnigramEncoder final : public PieceEncoder {
 public:
  explicit UnigramEncoder(const SentencePieceModel& model)
      : trie_(make_trie(model, {PieceType::normal, PieceType::user_defined})),
        byte_pieces_(model.byte_pieces) {
    // The scores of normal pieces are logarithms of probabilities, below 0; SentencePiece takes the least
    // positive number for the greatest of them.
    float least = std::numeric_limits<float>::max();
    float greatest = std::numeric_limits<float>::min();
    for (const Piece& piece : model.pieces) {
      if (piece.type != PieceType::normal) continue;
      least = std::min(least, piece.score);
      greatest = std::max(greatest, piece.score);
    }
    unknown_score_ = least - 10;
    for (const Piece& piece : model.pieces) {
      const bool user_defined = piece.type == PieceType::user_defined;
      const double found_first = static_cast<double>(static_cast<float>(piece.text.size()) * greatest) - 0.1;
      scores_.push_back(user_defined ? found_first : static_cast<double>(piece.score));
    }
  }

  void encode(std::string_view text, std::vector<int32_t>& pieces) const override {
    const std::vector<Cut> cuts = best_cuts(text);
    const auto first = std::ssize(pieces);
    for (size_t end = text.size(); end > 0; end = cuts[end].begin) {
      const Cut& cut = cuts[end];
      if (cut.piece != PieceTrie::kNone) {
        pieces.push_back(cut.piece);
        continue;
      }
      for (size_t i = end; i-- > cut.begin;)
        pieces.push_back(byte_pieces_[static_cast<unsigned char>(text[i])]);
    }
    std::reverse(pieces.begin() + first, pieces.end());
  }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  // The last piece of the best way to cut the text up to some byte.
  struct Cut {
    float score = 0;  // of the whole way
    uint32_t begin = kNowhere;
    int32_t piece = PieceTrie::kNone;  // none: an unknown character
  };

  // By the byte that the piece ends before. Ways are compared as exact sums with rounded ones, and kept
  // rounded, as SentencePiece does: ties are frequent, and end differently otherwise.
  std::vector<Cut> best_cuts(std::string_view text) const {
    std::vector<Cut> cuts(text.size() + 1);
    const auto offer = [&cuts](size_t end, double score, size_t begin, int32_t piece) {
      Cut& cut = cuts[end];
      if (cut.begin == kNowhere || score > static_cast<double>(cut.score))
        cut = {static_cast<float>(score), static_cast<uint32_t>(begin), piece};
    };
    size_t character = 0;
    for (size_t begin = 0; begin < text.size(); begin += character) {
      const std::string_view rest = text.substr(begin);
      const float so_far = cuts[begin].score;
      character = std::max<size_t>(utf8_length(rest), 1);
      bool known = false;
      trie_.for_prefixes(rest, [&](size_t length, int32_t piece) {
        offer(begin + length, scores_[static_cast<size_t>(piece)] + static_cast<double>(so_far), begin,
              piece);
        known = known || length == character;
      });
      if (!known)
        offer(begin + character, static_cast<double>(unknown_score_ + so_far), begin, PieceTrie::kNone);
    }
    return cuts;
  }

  const PieceTrie trie_;
  const std::array<int32_t, 256> byte_pieces_;
  std::vector<double> scores_;  // by piece
  float unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<PieceEncoder> make_unigram_encoder(const SentencePieceModel& model) {
  return std::make_unique<UnigramEncoder>(model);
}

}  // namespace mega
