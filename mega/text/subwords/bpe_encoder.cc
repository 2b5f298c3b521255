#include <algorithm>
#include <array>
#include <queue>

#include "mega/base/utf8.h"
#include "mega/text/subwords/piece_encoder.h"
#include "mega/text/subwords/piece_trie.h"

namespace mega {
namespace {

constexpr int32_t kNobody = -1;

// A part of the text on its way to a piece, linked with its neighbours.
struct Symbol {
  size_t begin;
  size_t size;  // 0: it has become part of another
  int32_t left, right;
  bool frozen;  // defined by the user: never part of a larger one
};

// Two neighbours that would make a piece.
struct Merge {
  float score;
  int32_t left, right;
  size_t size;  // of both

  // The greatest score comes first, then the leftmost.
  friend bool operator<(const Merge& a, const Merge& b) {
    return a.score != b.score ? a.score < b.score : a.left > b.left;
  }
};

class BpeEncoder final : public PieceEncoder {
 public:
  explicit BpeEncoder(const SentencePieceModel& model)
      : all_(make_trie(model, {PieceType::normal, PieceType::user_defined})),
        user_defined_(make_trie(model, {PieceType::user_defined})),
        byte_pieces_(model.byte_pieces) {
    for (const auto& piece : model.pieces) scores_.push_back(piece.score);
  }

  void encode(std::string_view text, std::vector<int32_t>& pieces) const override {
    for (const Symbol& symbol : merged(text)) {
      if (symbol.size == 0) continue;
      const std::string_view part = text.substr(symbol.begin, symbol.size);
      if (const int32_t piece = all_.find(part); piece != PieceTrie::kNone) {
        pieces.push_back(piece);
        continue;
      }
      for (const char byte : part) pieces.push_back(byte_pieces_[static_cast<unsigned char>(byte)]);
    }
  }

 private:
  // Characters, and the longest of the pieces that the user defined.
  std::vector<Symbol> first_symbols(std::string_view text) const {
    std::vector<Symbol> symbols;
    for (size_t begin = 0; begin < text.size(); begin += symbols.back().size) {
      const std::string_view rest = text.substr(begin);
      size_t user_defined = 0;
      user_defined_.for_prefixes(rest, [&](size_t length, int32_t) { user_defined = length; });
      const bool frozen = user_defined > 0;
      const size_t size = frozen ? user_defined : std::max<size_t>(utf8_length(rest), 1);
      const auto number = static_cast<int32_t>(symbols.size());
      symbols.push_back({begin, size, number - 1, number + 1, frozen});
    }
    if (!symbols.empty()) symbols.back().right = kNobody;
    return symbols;
  }

  // In the order of the text; those of size 0 are no more.
  std::vector<Symbol> merged(std::string_view text) const {
    std::vector<Symbol> symbols = first_symbols(text);
    std::priority_queue<Merge> merges;
    const auto at = [&symbols](int32_t number) -> Symbol& { return symbols[static_cast<size_t>(number)]; };
    const auto consider = [&](int32_t left, int32_t right) {
      if (left == kNobody || right == kNobody || at(left).frozen || at(right).frozen) return;
      const size_t size = at(left).size + at(right).size;
      const int32_t piece = all_.find(text.substr(at(left).begin, size));
      if (piece != PieceTrie::kNone) merges.push({scores_[static_cast<size_t>(piece)], left, right, size});
    };
    for (int32_t right = 1; right < std::ssize(symbols); ++right) consider(right - 1, right);

    while (!merges.empty()) {
      const Merge merge = merges.top();
      merges.pop();
      Symbol& left = at(merge.left);
      Symbol& right = at(merge.right);
      // One of them has changed since; symbols only grow, until they are no more.
      if (left.size == 0 || right.size == 0 || left.size + right.size != merge.size) continue;
      left.size = merge.size;
      right.size = 0;
      left.right = right.right;
      if (left.right != kNobody) at(left.right).left = merge.left;
      consider(left.left, merge.left);
      consider(merge.left, left.right);
    }
    return symbols;
  }

  const PieceTrie all_;
  const PieceTrie user_defined_;
  const std::array<int32_t, 256> byte_pieces_;
  std::vector<float> scores_;  // by piece
};

}  // namespace

std::unique_ptr<PieceEncoder> make_bpe_encoder(const SentencePieceModel& model) {
  return std::make_unique<BpeEncoder>(model);
}

}  // namespace mega
