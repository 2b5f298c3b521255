#include "mega/data/corpus/blocks.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/text/tokens.h"

namespace mega::data {
namespace {

// Sizes of blocks, one after the other.
class Sizes {
 public:
  Sizes(const BlockPlan& plan, uint64_t seed, int64_t epoch)
      : plan_(plan), draws_(stream_seed(seed, "blocks", static_cast<uint64_t>(epoch))) {
    require(plan.chunk >= 1, "train.blocks.chunk = ", plan.chunk,
            ": how long a chunk is must be known to cut a text into blocks");
    require(plan.min_chunks >= 1 && plan.min_chunks <= plan.max_chunks,
            "train.blocks: min_chunks = ", plan.min_chunks, " and max_chunks = ", plan.max_chunks,
            "; expected 1 <= min_chunks <= max_chunks");
  }

  int64_t next() { return draws_.between(plan_.min_chunks, plan_.max_chunks) * plan_.chunk; }
  int64_t most() const { return plan_.max_chunks * plan_.chunk; }

 private:
  BlockPlan plan_;
  Random draws_;
};

// Where the line that goes on at `begin` ends, or has to be cut.
int64_t line_end(const TokenView& text, int64_t begin, int64_t longest) {
  const int64_t stop = begin + std::min(longest, text.end - begin);
  return std::min(text.file->find(kEnd, begin, stop) + 1, stop);
}

std::vector<Block> cut_at_lines(const TokenView& text, Sizes& sizes) {
  std::vector<Block> blocks;
  int64_t next = text.empty() ? text.end : line_end(text, text.begin, sizes.most());
  for (int64_t begin = text.begin; begin < text.end;) {
    const int64_t size = sizes.next();
    int64_t end = begin;
    do {
      end = next;
      if (end < text.end) next = line_end(text, end, sizes.most());
    } while (end < text.end && next - begin <= size);
    blocks.push_back({begin, end});
    begin = end;
  }
  return blocks;
}

std::vector<Block> cut_exactly(const TokenView& text, Sizes& sizes) {
  std::vector<Block> blocks;
  for (int64_t begin = text.begin; begin < text.end; begin = blocks.back().end)
    blocks.push_back({begin, begin + std::min(sizes.next(), text.end - begin)});
  return blocks;
}

}  // namespace

std::vector<Block> plan_blocks(const TokenView& text, const BlockPlan& plan, uint64_t seed, int64_t epoch) {
  Sizes sizes(plan, seed, epoch);
  return plan.cut == BlockCut::lines ? cut_at_lines(text, sizes) : cut_exactly(text, sizes);
}

CarryPlan plan_carry(const TokenView& text, const BlockPlan& plan, int64_t streams, uint64_t seed,
                     int64_t epoch) {
  require(streams >= 1, "a text is divided into ", streams, " streams; expected at least one");
  Sizes sizes(plan, seed, epoch);
  CarryPlan carry;
  carry.streams = std::min(streams, text.size());
  if (text.empty()) return carry;

  const int64_t length = text.size() / carry.streams, longer = text.size() % carry.streams;
  const auto begin_of = [&](int64_t stream) {
    return text.begin + stream * length + std::min(stream, longer);
  };
  for (int64_t done = 0, size = 0; done < length; done += size) {
    size = std::min(sizes.next(), length - done);
    // The one token that some streams have more goes with their last segment, so that no stream ends before
    // the others.
    const bool last = done + size == length;
    for (int64_t stream = 0; stream < carry.streams; ++stream) {
      const int64_t begin = begin_of(stream);
      carry.segments.push_back({begin + done, last ? begin_of(stream + 1) : begin + done + size});
    }
  }
  return carry;
}

}  // namespace mega::data
