#include "mega/text/subwords/piece_trie.h"

#include <algorithm>

namespace mega {

PieceTrie::PieceTrie(std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, &Entry::text);

  // The entries below each node: in their order, those with one beginning stand beside each other.
  struct Range {
    size_t begin, end;
  };
  std::vector<Range> ranges = {{0, entries.size()}};
  bytes_ = {0};
  const auto byte_at = [&](size_t entry, size_t depth) { return entries[entry].text[depth]; };

  size_t depth = 0;
  size_t level_end = 1;
  for (size_t node = 0; node < ranges.size(); ++node) {
    if (node == level_end) {
      ++depth;
      level_end = ranges.size();
    }
    auto [begin, end] = ranges[node];
    const bool ends_here = begin < end && entries[begin].text.size() == depth;
    pieces_.push_back(ends_here ? entries[begin++].piece : kNone);
    children_.push_back(static_cast<uint32_t>(ranges.size()));
    while (begin < end) {
      const char byte = byte_at(begin, depth);
      size_t next = begin + 1;
      while (next < end && byte_at(next, depth) == byte) ++next;
      ranges.push_back({begin, next});
      bytes_.push_back(static_cast<unsigned char>(byte));
      begin = next;
    }
  }
  children_.push_back(static_cast<uint32_t>(ranges.size()));
}

int32_t PieceTrie::find(std::string_view text) const {
  uint32_t node = kRoot;
  for (const char byte : text) {
    node = child(node, byte);
    if (node == kRoot) return kNone;
  }
  return pieces_[node];
}

uint32_t PieceTrie::child(uint32_t node, char byte) const {
  const auto wanted = static_cast<unsigned char>(byte);
  const auto begin = bytes_.begin() + children_[node];
  const auto end = bytes_.begin() + children_[node + 1];
  const auto at = std::lower_bound(begin, end, wanted);
  return at != end && *at == wanted ? static_cast<uint32_t>(at - bytes_.begin()) : kRoot;
}

}  // namespace mega
