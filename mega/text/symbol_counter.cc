#include "mega/text/symbol_counter.h"

#include <algorithm>

namespace mega {
namespace {

// What an entry of the map takes beside the bytes of its symbol, about.
constexpr size_t kEntryBytes = 80;

}  // namespace

void SymbolCounter::add(std::string_view symbol, int64_t times) {
  if (const auto found = counts_.find(symbol); found != counts_.end()) {
    found->second += times;
    return;
  }
  counts_.emplace(symbol, times);
  bytes_ += symbol.size() + kEntryBytes;
  if (bytes_ > most_bytes_) drop_rarest();
}

// Each round drops one count more. That are few rounds, or a text so long that they do not matter: every
// symbol left after n rounds was read more than n times.
void SymbolCounter::drop_rarest() {
  for (int64_t rarest = 1; bytes_ > most_bytes_ / 2; ++rarest) {
    std::erase_if(counts_, [&](const auto& entry) {
      const bool drop = entry.second <= rarest;
      if (drop) bytes_ -= entry.first.size() + kEntryBytes;
      return drop;
    });
  }
}

std::vector<std::string_view> SymbolCounter::frequent(int64_t min_count, size_t most) const {
  std::vector<std::pair<int64_t, std::string_view>> ranked;
  for (const auto& [symbol, count] : counts_)
    if (count >= min_count) ranked.emplace_back(-count, symbol);
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > most) ranked.resize(most);

  std::vector<std::string_view> symbols;
  symbols.reserve(ranked.size());
  for (const auto& [minus_count, symbol] : ranked) symbols.push_back(symbol);
  return symbols;
}

}  // namespace mega
