#include "mega/infer/layers/attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "mega/kernels/attention.h"
#include "mega/kernels/attention_step.h"
#include "mega/kernels/byte_attention.h"
#include "mega/kernels/instruction_set.h"

namespace mega::infer {
namespace {

using kernels::ConstRows;
using kernels::Rows;
using kernels::WeightType;

// Up to this many queries of a stream are processed one by one: each reads keys and values in the cache,
// while a block of queries needs a contiguous copy first.
constexpr int64_t kFewQueries = 4;
// Queries of a block per task: each task packs the keys and values anew.
constexpr int64_t kFewestOfTask = 128, kQueryRange = 256;
constexpr int64_t kQueryUnit = 64;  // what the kernel takes at once

ConstRows constant(Rows rows) { return {rows.data, rows.stride}; }

// Consecutive queries of one chunk, and the positions of the chunk before them.
struct Piece {
  int64_t begin = 0, length = 0;
  int64_t open = 0;

  int64_t keys() const { return open + length; }
};

// Rows of what a block is computed from; those of bytes have scales.
template <class T>
struct BlockRows {
  kernels::RowsOf<T> rows{};
  float* scales = nullptr;

  BlockRows from(int64_t row) const {
    return {{rows[row], rows.stride}, scales == nullptr ? nullptr : scales + row};
  }
};

void convert(ConstRows from, int64_t begin, int64_t end, int64_t columns, const BlockRows<uint16_t>& to) {
  for (int64_t row = begin; row < end; ++row) kernels::to_bf16(from[row], to.rows[row], columns);
}
void convert(ConstRows from, int64_t begin, int64_t end, int64_t columns, const BlockRows<int8_t>& to) {
  kernels::quantize_rows(from, to.rows.data, to.scales, begin, end, columns);
}

// Blocks of queries are computed from T: float, uint16_t for bf16, or int8_t.
template <class T>
class Attention {
 public:
  Attention(const AttentionLayer& layer, const AttentionRows& rows, std::span<const Segment> segments,
            size_t index, Rows out, const Run& run)
      : options_(layer.options), position_(layer.position), rows_(rows), index_(index), out_(out), run_(run) {
    make_room(segments);
    for (const Segment& segment : segments) plan(segment);
    run_steps();
    if (!ranges_.empty()) {
      convert_rows();
      gather_open();
      run_blocks();
    }
    for (const Segment& segment : segments)
      if (segment.state != nullptr) keep(segment);
  }

 private:
  KeyValueCache* cache(const Segment& segment) const {
    return segment.state == nullptr ? nullptr : &segment.state->blocks[index_].cache;
  }
  static bool steps(const Piece& piece, const KeyValueCache* cache) {
    return cache != nullptr && piece.length <= kFewQueries;
  }

  // The part that continues the open chunk, up to its end.
  Piece head(const Segment& segment) const {
    const int64_t place = options_.chunk > 0 ? segment.position() % options_.chunk : segment.position();
    const int64_t fits = options_.chunk > 0 ? options_.chunk - place : segment.length;
    return {segment.begin, std::min(segment.length, fits), place};
  }

  static constexpr bool kBytes = std::is_same_v<T, int8_t>;
  static constexpr bool kConverts = !std::is_same_v<T, float>;
  using Block = std::conditional_t<kBytes, kernels::ByteAttentionBlock, kernels::AttentionBlockOf<T>>;

  // Contiguous rows; of bytes they have the next of `scales`.
  BlockRows<T> room(Workspace::Purpose purpose, int64_t rows, int64_t columns, float*& scales) const {
    constexpr auto kInFloat = static_cast<int64_t>(sizeof(float) / sizeof(T));
    auto* data = reinterpret_cast<T*>(run_.work.floats(purpose, (rows * columns + kInFloat - 1) / kInFloat));
    return {{data, columns}, kBytes ? std::exchange(scales, scales + rows) : nullptr};
  }

  // Allocates space for contiguous keys and values of open chunks, and for copies in T, of blocks of queries.
  void make_room(std::span<const Segment> segments) {
    int64_t keys = 0;
    for (const Segment& segment : segments) {
      count_ = std::max(count_, segment.begin + segment.length);
      if (const Piece piece = head(segment); piece.open > 0 && !steps(piece, cache(segment)))
        keys += piece.keys();
    }
    const int64_t z = position_.columns(), v = options_.values;
    float* scales = kBytes ? run_.work.floats(Workspace::kAttentionScales, 3 * count_ + 2 * keys) : nullptr;
    open_keys_ = room(Workspace::kOpenKeys, keys, z, scales);
    open_values_ = room(Workspace::kOpenValues, keys, v, scales);
    if constexpr (kConverts) {
      queries_of_blocks_ = room(Workspace::kNarrowQueries, count_, z, scales);
      keys_of_blocks_ = room(Workspace::kNarrowKeys, count_, z, scales);
      values_of_blocks_ = room(Workspace::kNarrowValues, count_, v, scales);
    } else {
      queries_of_blocks_ = {rows_.queries};
      keys_of_blocks_ = {rows_.keys};
      values_of_blocks_ = {rows_.values};
    }
  }

  // Fills the copies.
  void convert_rows() const {
    if constexpr (kConverts) {
      const int64_t z = position_.columns(), v = options_.values;
      run_.rows(count_, 2 * z + v, [&](int64_t begin, int64_t end) {
        convert(constant(rows_.queries), begin, end, z, queries_of_blocks_);
        convert(constant(rows_.keys), begin, end, z, keys_of_blocks_);
        convert(constant(rows_.values), begin, end, v, values_of_blocks_);
      });
    }
  }

  void plan(const Segment& segment) {
    KeyValueCache* const kept = cache(segment);
    const Piece first = head(segment);
    if (kept != nullptr && kept->type() == WeightType::bf16) round(segment);
    if (steps(first, kept)) {
      add_steps(first, *kept);
    } else {
      add_block(first, kept);
    }
    for (int64_t done = first.length; done < segment.length; done += options_.chunk)
      add_block({segment.begin + done, std::min(options_.chunk, segment.length - done), 0}, nullptr);
  }

  // Rounds to what a bf16 cache would return.
  void round(const Segment& segment) const {
    const auto rows_of = [&](Rows rows, int64_t columns) {
      std::vector<uint16_t> rounded(static_cast<size_t>(columns));
      for (int64_t row = segment.begin; row < segment.begin + segment.length; ++row) {
        kernels::to_bf16(rows[row], rounded.data(), columns);
        kernels::from_bf16(rounded.data(), rows[row], columns);
      }
    };
    rows_of(rows_.keys, position_.columns());
    rows_of(rows_.values, options_.values);
  }

  // Scale of the content products: 1 / sqrt(Z) for softmax, otherwise 1 / l, where l is the position of a
  // causal query in its chunk + 1, or else the number of keys.
  float scale(const Piece& piece, int64_t query) const {
    if (options_.attention == AttentionFunction::softmax)
      return static_cast<float>(1.0 / std::sqrt(static_cast<double>(options_.shared)));
    const int64_t length = options_.causal ? piece.open + query + 1 : piece.keys();
    return 1.0f / static_cast<float>(length);
  }

  // If only the content of a query is scaled, it is done here, and the kernels do not scale.
  void scale_content(const Piece& piece) const {
    if (position_.scales_all()) return;
    for (int64_t i = 0; i < piece.length; ++i) {
      float* query = rows_.queries[piece.begin + i];
      for (int64_t c = 0; c < options_.shared; ++c) query[c] *= scale(piece, i);
    }
  }

  void add_steps(const Piece& piece, KeyValueCache& kept) {
    scale_content(piece);
    const auto bias = position_.bias(piece.keys());
    tables_.push_back(bias);
    for (int64_t i = 0; i < piece.length; ++i) {
      kept.append(constant(rows_.keys), constant(rows_.values), piece.begin + i, 1);
      const int64_t place = piece.open + i;
      kernels::AttentionStep step{options_.attention,
                                  position_.columns(),
                                  options_.values,
                                  rows_.queries[piece.begin + i],
                                  position_.scales_all() ? scale(piece, i) : 1.0f,
                                  nullptr};
      queries_.push_back({piece.begin + i, std::ssize(steps_), kept.pages()});
      for (int64_t page = 0; page < kept.pages(); ++page) {
        if (bias != nullptr) step.bias = bias->at_zero() + page * kept.page_positions() - place;
        steps_.push_back({step, kept.page(page)});
      }
    }
  }

  void add_block(const Piece& piece, const KeyValueCache* kept) {
    scale_content(piece);
    const BlockRows<T> queries = queries_of_blocks_.from(piece.begin);
    BlockRows<T> keys = keys_of_blocks_.from(piece.begin), values = values_of_blocks_.from(piece.begin);
    if (piece.open > 0) {
      keys = std::exchange(open_keys_, open_keys_.from(piece.keys()));
      values = std::exchange(open_values_, open_values_.from(piece.keys()));
      opens_.push_back({piece, kept, keys, values});
    }
    Block block;
    block.queries = piece.length;
    block.keys = piece.keys();
    block.shared = position_.columns();
    block.values = options_.values;
    block.q = queries.rows.data;
    block.q_stride = queries.rows.stride;
    block.k = keys.rows.data;
    block.k_stride = keys.rows.stride;
    block.v = values.rows.data;
    block.v_stride = values.rows.stride;
    if constexpr (kBytes) {
      block.q_scales = queries.scales;
      block.k_scales = keys.scales;
      block.v_scales = values.scales;
    }
    block.function = options_.attention;
    block.first_position = piece.open;
    block.causal = options_.causal;
    const bool by_position = options_.attention != AttentionFunction::softmax && options_.causal;
    block.scale_by_position = by_position && position_.scales_all();
    block.scale = by_position || !position_.scales_all() ? 1.0f : scale(piece, 0);
    const auto bias = position_.bias(piece.keys());
    tables_.push_back(bias);
    block.bias = bias == nullptr ? nullptr : bias->at_zero();
    // Several for each thread, because with a causal mask the last ones have the most to do.
    const int64_t tasks = 2 * run_.pool.threads() * kQueryUnit;
    const int64_t range =
        std::clamp((piece.length + tasks - 1) / tasks * kQueryUnit, kFewestOfTask, kQueryRange);
    for (int64_t begin = 0; begin < piece.length; begin += range)
      ranges_.push_back({block, begin, std::min(piece.length, begin + range), out_[piece.begin]});
  }

  // Cached keys and values, then those of the piece itself, contiguously.
  void gather_open() const {
    for (const Open& open : opens_) {
      const int64_t z = position_.columns(), v = options_.values, first = open.piece.open;
      run_.pool.run(open.kept->pages(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t page = begin; page < end; ++page) {
          if constexpr (kBytes)
            open.kept->quantize_page(page, {open.keys.rows.data, open.keys.scales},
                                     {open.values.rows.data, open.values.scales});
          else
            open.kept->copy_page(page, open.keys.rows.data, open.values.rows.data);
        }
      });
      run_.rows(open.piece.length, z + v, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          copy_row(keys_of_blocks_.from(open.piece.begin + i), z, open.keys.from(first + i));
          copy_row(values_of_blocks_.from(open.piece.begin + i), v, open.values.from(first + i));
        }
      });
    }
  }

  static void copy_row(const BlockRows<T>& from, int64_t columns, const BlockRows<T>& to) {
    std::copy_n(from.rows.data, columns, to.rows.data);
    if constexpr (kBytes) *to.scales = *from.scales;
  }

  void run_steps() {
    if (steps_.empty()) return;
    const int64_t values = options_.values;
    float* outs = run_.work.floats(Workspace::kPartials, std::ssize(steps_) * values);
    partials_.resize(steps_.size());
    run_.pool.run(std::ssize(steps_), 1, [&](int64_t begin, int64_t end) {
      alignas(kCacheLine) float scores[KeyValueCache::kPage];
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        partials_[at].out = outs + i * values;
        kernels::attention_step(steps_[at].step, steps_[at].page, scores, partials_[at]);
      }
    });
    run_.rows(std::ssize(queries_), values, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Query& query = queries_[static_cast<size_t>(i)];
        kernels::merge_attention(options_.attention, partials_.data() + query.first_step, query.steps, values,
                                 out_[query.row]);
      }
    });
  }

  void run_blocks() {
    const int64_t z = position_.columns(), v = options_.values;
    const int64_t scratch = kBytes ? kernels::byte_attention_scratch(kQueryRange, z, v)
                                   : kernels::attention_scratch(kQueryRange, z, v);
    run_.pool.run(std::ssize(ranges_), 1, [&](int64_t begin, int64_t end) {
      float* memory = scratch_of_thread(scratch);
      [[maybe_unused]] float normalizer[kQueryRange];
      for (int64_t i = begin; i < end; ++i) {
        const Range& range = ranges_[static_cast<size_t>(i)];
        if constexpr (kBytes)
          kernels::byte_attention(range.block, range.begin, range.end, range.out, out_.stride, memory);
        else
          kernels::attention_forward(range.block, range.begin, range.end, range.out, out_.stride,
                                     normalizer - range.begin, memory);
      }
    });
  }

  // Updates the open chunk after the segment. Single steps have already stored their keys.
  void keep(const Segment& segment) const {
    KeyValueCache& kept = *cache(segment);
    const Piece first = head(segment);
    if (!steps(first, &kept) && first.keys() != options_.chunk)
      kept.append(constant(rows_.keys), constant(rows_.values), first.begin, first.length);
    if (first.keys() != options_.chunk) return;
    kept.clear();
    const int64_t rest = (segment.length - first.length) % options_.chunk;
    kept.append(constant(rows_.keys), constant(rows_.values), segment.begin + segment.length - rest, rest);
  }

  // One query and one page of keys.
  struct Step {
    kernels::AttentionStep step;
    kernels::KeyValuePage page;
  };
  struct Query {
    int64_t row, first_step, steps;
  };
  // A block whose first keys are cached.
  struct Open {
    Piece piece;
    const KeyValueCache* kept;
    BlockRows<T> keys, values;
  };
  // Some queries of a block.
  struct Range {
    Block block;
    int64_t begin, end;
    float* out;  // output of the block's first query
  };

  const BlockOptions& options_;
  const Position& position_;
  const AttentionRows& rows_;
  size_t index_;
  Rows out_;
  const Run& run_;
  int64_t count_ = 0;  // rows
  BlockRows<T> queries_of_blocks_, keys_of_blocks_, values_of_blocks_, open_keys_, open_values_;
  std::vector<Open> opens_;
  std::vector<Step> steps_;
  std::vector<Query> queries_;
  std::vector<kernels::PartialAttention> partials_;
  std::vector<Range> ranges_;
  std::vector<std::shared_ptr<const BiasTable>> tables_;  // owns the biases that blocks and steps point to
};

}  // namespace

void attend(const AttentionLayer& layer, const AttentionRows& rows, std::span<const Segment> segments,
            size_t index, kernels::Rows out, const Run& run) {
  // One scale for a row is too coarse where a part of it is scaled alone.
  const bool fits_bytes = layer.position.scales_all() && layer.position.columns() <= kernels::kMaxByteColumns;
  if (layer.arithmetic == Arithmetic::int8 && fits_bytes && kernels::prefers_byte_attention())
    Attention<int8_t>(layer, rows, segments, index, out, run);
  else if (layer.arithmetic != Arithmetic::f32 && kernels::native_bf16())
    Attention<uint16_t>(layer, rows, segments, index, out, run);
  else
    Attention<float>(layer, rows, segments, index, out, run);
}

}  // namespace mega::infer
