// How often each symbol stands in a text of any length, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mega {

// When the symbols seen so far take more than `most_bytes`, the rarest of them are forgotten until half of
// that is free; one that comes again is counted from one. Half a gigabyte is several million words: a natural
// text loses only words that are too rare to learn from, and the counts of frequent ones stay exact.
class SymbolCounter {
 public:
  explicit SymbolCounter(size_t most_bytes = size_t{512} << 20) : most_bytes_(most_bytes) {}

  void add(std::string_view symbol, int64_t times = 1);

  // Every symbol that is remembered, with its count, in no order. Valid until the next add.
  std::vector<std::pair<std::string_view, int64_t>> counts() const {
    return {counts_.begin(), counts_.end()};
  }

  // By falling count, equals in the order of their bytes (which is that of their code points). At most
  // `most`, each counted at least `min_count` times. Valid until the next add.
  std::vector<std::string_view> frequent(int64_t min_count, size_t most) const;

 private:
  // Finds a string_view without making a string of it.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view symbol) const { return std::hash<std::string_view>()(symbol); }
  };

  void drop_rarest();

  const size_t most_bytes_;
  size_t bytes_ = 0;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> counts_;
};

}  // namespace mega
