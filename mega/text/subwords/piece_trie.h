// Pieces of text by their beginnings: which of them a text begins with is found in one walk over its bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace mega {

class PieceTrie {
 public:
  static constexpr int32_t kNone = -1;

  struct Entry {
    std::string_view text;
    int32_t piece;
  };

  // The texts are all different and none is empty; they are not needed afterwards.
  explicit PieceTrie(std::vector<Entry> entries);

  // Calls action(length, piece) for each piece that the text begins with, the shortest first.
  template <class Action>
  void for_prefixes(std::string_view text, const Action& action) const {
    uint32_t node = kRoot;
    for (size_t length = 1; length <= text.size(); ++length) {
      node = child(node, text[length - 1]);
      if (node == kRoot) return;
      if (pieces_[node] != kNone) action(length, pieces_[node]);
    }
  }

  // The piece that is this text, or kNone.
  int32_t find(std::string_view text) const;

 private:
  static constexpr uint32_t kRoot = 0;

  // The node that the byte leads to; the root, which is nobody's child, where there is none.
  uint32_t child(uint32_t node, char byte) const;

  // Nodes lie level by level, each beside its siblings: the children of a node end where those of the next
  // one begin.
  std::vector<unsigned char> bytes_;  // by node: what leads to it
  std::vector<int32_t> pieces_;       // by node: the piece that ends there
  std::vector<uint32_t> children_;    // by node, and the end
};

}  // namespace mega
