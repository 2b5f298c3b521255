#include "mega/text/metrics/edit_distance.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"

namespace mega {
namespace {

constexpr int64_t kBeamWidth = 25;
constexpr int32_t kUnreachable = 1 << 30;

}  // namespace

BeamEditDistance::BeamEditDistance(std::span<const int32_t> reference, size_t hypothesis_length)
    : reference_(reference), bands_(hypothesis_length + 1) {
  if (hypothesis_length == 0) return;
  const double ratio = static_cast<double>(reference.size()) / static_cast<double>(hypothesis_length);
  // Bands of neighbouring rows must overlap, however much longer the reference is.
  const int64_t width =
      kBeamWidth < ratio / 2 ? static_cast<int64_t>(std::ceil(ratio / 2 + kBeamWidth)) : kBeamWidth;
  const auto columns = static_cast<int64_t>(reference.size()) + 1;
  size_t offset = 0;
  for (size_t row = 1; row < bands_.size(); ++row) {
    const auto diagonal = static_cast<int64_t>(std::floor(static_cast<double>(row) * ratio));
    const int64_t begin = std::max<int64_t>(0, diagonal - width);
    const int64_t end = row + 1 == bands_.size() ? columns : std::min(columns, diagonal + width);
    bands_[row] = {static_cast<size_t>(begin), static_cast<size_t>(end), offset};
    offset += static_cast<size_t>(end - begin);
  }
  cells_.resize(offset);
}

BeamEditDistance::Cell BeamEditDistance::cell(size_t row, size_t column) const {
  if (row == 0) return {static_cast<int32_t>(column), Edit::add};
  const Band& band = bands_[row];
  if (column < band.begin || column >= band.end) return {kUnreachable, Edit::keep};
  return cells_[band.offset + column - band.begin];
}

void BeamEditDistance::fill(size_t row, int32_t word) {
  const Band& band = bands_[row];
  for (size_t column = band.begin; column < band.end; ++column) {
    Cell best{cell(row - 1, column).cost + 1, Edit::leave_out};
    if (column > 0) {
      // Of equal costs: keep or replace before leaving out, and that before adding.
      const bool same = word == reference_[column - 1];
      const int32_t diagonal = cell(row - 1, column - 1).cost + (same ? 0 : 1);
      if (diagonal <= best.cost) best = {diagonal, same ? Edit::keep : Edit::replace};
      const int32_t added = column > band.begin ? cell(row, column - 1).cost + 1 : kUnreachable;
      if (added < best.cost) best = {added, Edit::add};
    }
    cells_[band.offset + column - band.begin] = best;
  }
}

int64_t BeamEditDistance::distance(std::span<const int32_t> hypothesis) {
  require(hypothesis.size() + 1 == bands_.size(), "edit distance of ", hypothesis.size(),
          " words instead of ", bands_.size() - 1);
  const auto changed = std::mismatch(last_.begin(), last_.end(), hypothesis.begin(), hypothesis.end());
  for (auto row = static_cast<size_t>(changed.second - hypothesis.begin()) + 1; row < bands_.size(); ++row)
    fill(row, hypothesis[row - 1]);
  last_.assign(hypothesis.begin(), hypothesis.end());
  return cell(hypothesis.size(), reference_.size()).cost;
}

std::vector<Edit> BeamEditDistance::edits() const {
  std::vector<Edit> result;
  size_t row = bands_.size() - 1, column = reference_.size();
  while (row > 0 || column > 0) {
    const Edit edit = cell(row, column).edit;
    result.push_back(edit);
    if (edit != Edit::add) --row;
    if (edit != Edit::leave_out) --column;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace mega
