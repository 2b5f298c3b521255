// Edit distance between a reference and the orders into which TER puts a hypothesis' words. It looks only at
// alignments near the diagonal, as sacreBLEU's version of tercom does: that is part of TER's definition,
// because an alignment decides which words are moved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mega {

// What makes the reference of the hypothesis: a word of the hypothesis is kept, replaced or left out, or one
// of the reference is added.
enum class Edit : uint8_t { keep, replace, leave_out, add };

class BeamEditDistance {
 public:
  // Words are numbers. All hypotheses have the same length; the reference must outlive this.
  BeamEditDistance(std::span<const int32_t> reference, size_t hypothesis_length);

  // Least number of edits. What the words have in common with those of the last call, from the start, is not
  // computed again.
  int64_t distance(std::span<const int32_t> hypothesis);

  // The edits of the last call, from left to right.
  std::vector<Edit> edits() const;

 private:
  struct Cell {
    int32_t cost;
    Edit edit;
  };
  // Part of a row of the matrix: columns begin .. end - 1, in `cells_` from `offset` on.
  struct Band {
    size_t begin, end, offset;
  };

  Cell cell(size_t row, size_t column) const;
  void fill(size_t row, int32_t word);

  std::span<const int32_t> reference_;
  std::vector<Band> bands_;  // of row i, after i words of the hypothesis; row 0 is not stored
  std::vector<Cell> cells_;
  std::vector<int32_t> last_;
};

}  // namespace mega
