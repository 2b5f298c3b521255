#include "mega/data/shared_source.h"

#include <algorithm>
#include <numeric>

#include "mega/text/tokens.h"

namespace mega::data {
namespace {

// Every row has `width` of the items.
template <class Item>
std::vector<Item> rows_of(const std::vector<Item>& items, int64_t rows, int64_t first, int64_t step) {
  std::vector<Item> chosen;
  const auto width = std::ssize(items) / std::max<int64_t>(1, rows);
  for (int64_t row = first; width > 0 && row < rows; row += step)
    chosen.insert(chosen.end(), items.begin() + row * width, items.begin() + (row + 1) * width);
  return chosen;
}

SequenceSet rows_of(const SequenceSet& set, int64_t first, int64_t step) {
  const auto rows = std::ssize(set.lengths);
  SequenceSet chosen;
  chosen.length = set.length;
  chosen.channels = set.channels;
  chosen.tokens = rows_of(set.tokens, rows, first, step);
  chosen.values = rows_of(set.values, rows, first, step);
  chosen.lengths = rows_of(set.lengths, rows, first, step);
  return chosen;
}

template <class Item>
void pad_rows(std::vector<Item>& items, int64_t rows, int64_t width, Item filler) {
  if (items.empty()) return;
  const int64_t before = std::ssize(items) / rows;
  std::vector<Item> padded(static_cast<size_t>(rows * width), filler);
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(items.begin() + row * before, before, padded.begin() + row * width);
  items = std::move(padded);
}

}  // namespace

Batch some_rows(const Batch& batch, int64_t first, int64_t step) {
  const int64_t rows = batch.size();
  Batch chosen;
  chosen.examples = rows_of(batch.examples, rows, first, step);
  chosen.names = rows_of(batch.names, rows, first, step);
  for (const SequenceSet& input : batch.inputs) {
    chosen.inputs.push_back(rows_of(input, first, step));
    const std::vector<int64_t>& lengths = chosen.inputs.back().lengths;
    chosen.positions += std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  }
  chosen.targets.classes = rows_of(batch.targets.classes, rows, first, step);
  chosen.targets.numbers = rows_of(batch.targets.numbers, rows, first, step);
  chosen.targets.sequences = rows_of(batch.targets.sequences, first, step);
  chosen.targets.soft = rows_of(batch.targets.soft, rows, first, step);
  return chosen;
}

void cut_positions(Batch& batch, int64_t begin, int64_t end, int64_t real) {
  const auto cut = [&](SequenceSet& set) {
    const auto rows = std::ssize(set.lengths);
    const auto columns = [&](auto& items, int64_t width) {
      if (items.empty()) return;
      std::remove_reference_t<decltype(items)> kept;
      for (int64_t row = 0; row < rows; ++row) {
        const auto first = items.begin() + row * set.length * width;
        kept.insert(kept.end(), first + begin * width, first + end * width);
      }
      items = std::move(kept);
    };
    columns(set.tokens, 1);
    columns(set.values, set.channels);
    for (int64_t& length : set.lengths) length = std::clamp<int64_t>(length - begin, 0, real);
    set.length = end - begin;
  };
  batch.positions = 0;
  for (SequenceSet& input : batch.inputs) {
    cut(input);
    batch.positions += std::accumulate(input.lengths.begin(), input.lengths.end(), int64_t{0});
  }
  if (!batch.targets.sequences.lengths.empty()) cut(batch.targets.sequences);
}

void pad_to(SequenceSet& set, int64_t length) {
  if (length <= set.length) return;
  const auto rows = std::ssize(set.lengths);
  pad_rows<int32_t>(set.tokens, rows, length, kPad);
  pad_rows(set.values, rows, length * set.channels, 0.0F);
  set.length = length;
}

Batch SharedSource::make(std::span<const int64_t> examples) {
  const bool none = part_ >= std::ssize(examples);
  const int64_t first = none ? 0 : part_, step = none ? std::ssize(examples) : parts_;
  Batch share;
  if (whole_->mixes()) {
    share = some_rows(whole_->make(examples), first, step);
  } else {
    std::vector<int64_t> own;
    for (int64_t i = first; i < std::ssize(examples); i += step)
      own.push_back(examples[static_cast<size_t>(i)]);
    share = whole_->make(own);
  }
  share.stand_in = none;
  return share;
}

}  // namespace mega::data
