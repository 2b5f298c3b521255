// Symbols by number and numbers by symbol: the inner loop of encoding, several times as fast as a map of the
// standard library.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace mega {

// Open addressing with linear probing; less than half of the slots are taken. Does not own the text.
class SymbolTable {
 public:
  // For at most `symbols` of them.
  explicit SymbolTable(size_t symbols) : slots_(std::bit_ceil(2 * symbols + 1)) { symbols_.reserve(symbols); }

  size_t size() const { return symbols_.size(); }
  std::string_view symbol(int32_t number) const { return symbols_[static_cast<size_t>(number)]; }

  // The symbol's number; -1 if it has none.
  int32_t find(std::string_view symbol) const { return slots_[slot_of(symbol)].number; }

  // Gives the symbol the next number. Returns its number: that of before if it is not new.
  int32_t add(std::string_view symbol) {
    Slot& slot = slots_[slot_of(symbol)];
    if (slot.number < 0) {
      slot = {hash_of(symbol), static_cast<int32_t>(size())};
      symbols_.push_back(symbol);
    }
    return slot.number;
  }

 private:
  struct Slot {
    uint32_t hash = 0;  // spares most looks at symbols that are others
    int32_t number = -1;
  };

  static uint32_t hash_of(std::string_view symbol) {
    return static_cast<uint32_t>(std::hash<std::string_view>()(symbol));
  }

  // Where the symbol is, or the free slot where it belongs.
  size_t slot_of(std::string_view symbol) const {
    const uint32_t hash = hash_of(symbol);
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number >= 0 && (slots_[at].hash != hash || this->symbol(slots_[at].number) != symbol))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  std::vector<std::string_view> symbols_;
};

}  // namespace mega
