// What was found in a parallel text when it became tokens. Kept beside them.
#pragma once

#include <cstdint>

#include "mega/base/options/options.h"

namespace mega::data {

struct PairCounts {
  int64_t pairs = 0;       // that became tokens
  int64_t empty = 0;       // left out of training: a side is empty,
  int64_t too_long = 0;    // a side has more than input.max_length tokens,
  int64_t unbalanced = 0;  // or one has more than data.max_ratio times the other's
  int64_t broken = 0;      // rows of a table that are no pair
  int64_t cut = 0;         // where nothing is left out: pairs of which a side was cut to input.max_length
  int64_t identical = 0;   // of all: source and target are the same, and not empty
  int64_t empty_sources = 0, empty_targets = 0;

  int64_t left_out() const { return empty + too_long + unbalanced; }
  int64_t read() const { return pairs + left_out(); }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    constexpr Range kCount{0, 9e18};
    v.field("pairs", self.pairs, "pairs that became tokens", kCount);
    v.field("empty", self.empty, "left out because a side is empty", kCount);
    v.field("too_long", self.too_long, "left out because a side is too long", kCount);
    v.field("unbalanced", self.unbalanced, "left out because one side is much longer", kCount);
    v.field("broken", self.broken, "rows of a table that are no pair", kCount);
    v.field("cut", self.cut, "pairs of which a side was cut", kCount);
    v.field("identical", self.identical, "source and target are the same", kCount);
    v.field("empty_sources", self.empty_sources, "sources that are empty", kCount);
    v.field("empty_targets", self.empty_targets, "targets that are empty", kCount);
  }
};

}  // namespace mega::data
