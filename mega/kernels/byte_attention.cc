#include "mega/kernels/byte_attention.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/byte_attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "mega/kernels/attention_rows-inl.h"
#include "mega/kernels/dispatch.h"
#include "mega/kernels/dot_tiles.h"
#include "mega/kernels/packed_dot-inl.h"

#ifndef MEGA_BYTE_ATTENTION_ONCE
#define MEGA_BYTE_ATTENTION_ONCE
namespace mega::kernels {
namespace {

// Keys whose values are added up before the output is touched, which comes from farther away than they do.
constexpr int64_t kTilesOfGroup = 4, kGroup = kTilesOfGroup * kKeyTile;

}  // namespace
}  // namespace mega::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

// Right factors are packed into panels of so many columns, in words of four bytes that are neighbours along
// the depth: word w of column c is panel[w * kColumns + c].
inline constexpr int64_t kColumns = 32, kBytesOfWord = 4;
inline constexpr int kRowsOfPiece = 12;

constexpr int64_t WordsOf(int64_t bytes) { return (bytes + kBytesOfWord - 1) / kBytesOfWord; }

using Integers = hn::ScalableTag<int32_t>;

// Which factor of a product is unsigned, as the instruction wants one to be.
enum class Unsigned { panel, rows };

#if HWY_TARGET == HWY_AVX3
struct UnsignedRows : ByteWords {
  static HWY_INLINE void Accumulate(WordVector w, WordVector x, Sum& sum) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  }
};
#endif

#if HWY_TARGET == HWY_AVX3
static_assert(kColumns == kPanelColumns && kColumns == 2 * kWordLanes,
              "kernels below add two vectors of a panel");
#endif

// sums (kRows, kColumns) = kRows rows of bytes, row_bytes apart, times a panel.
template <Unsigned kUnsigned, int kRows>
HWY_NOINLINE void MultiplyRows(const std::byte* rows, int64_t row_bytes, const uint32_t* panel, int64_t words,
                               int32_t* sums) {
#if HWY_TARGET == HWY_AVX3
  if (cpu_has_vnni) {
    using Kind = std::conditional_t<kUnsigned == Unsigned::panel, ByteWords, UnsignedRows>;
    typename Kind::Sum in_registers[kRows][2];
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) in_registers[r][0] = in_registers[r][1] = hn::Zero(Integers());
    AddPanel<Kind, kRows>(panel, rows, row_bytes, words, in_registers);
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      hn::Store(in_registers[r][0], Integers(), sums + r * kColumns);
      hn::Store(in_registers[r][1], Integers(), sums + r * kColumns + kWordLanes);
    }
    return;
  }
#endif
  using Left = std::conditional_t<kUnsigned == Unsigned::panel, int8_t, uint8_t>;
  using Right = std::conditional_t<kUnsigned == Unsigned::panel, uint8_t, int8_t>;
  const auto* right = reinterpret_cast<const Right*>(panel);
  std::fill_n(sums, kRows * kColumns, 0);
  for (int r = 0; r < kRows; ++r, sums += kColumns) {
    const auto* left = reinterpret_cast<const Left*>(rows + r * row_bytes);
    for (int64_t k = 0; k < words * kBytesOfWord; ++k) {
      const Right* column = right + k / kBytesOfWord * kColumns * kBytesOfWord + k % kBytesOfWord;
      for (int64_t c = 0; c < kColumns; ++c) sums[c] += left[k] * column[c * kBytesOfWord];
    }
  }
}

// Calls body(count, first, c) for pieces of a product's rows, their count as a constant, and the first column
// of each panel.
template <class Body>
HWY_INLINE void ForBlocks(int64_t rows, int64_t columns, const Body& body) {
  const TokenPieces<kRowsOfPiece> pieces(0, rows);
  for (int64_t c = 0; c < columns; c += kColumns)
    for (int64_t piece = 0; piece < pieces.count; ++piece)
      pieces.with_size(piece, [&](auto count) HWY_ATTR { body(count, pieces.start(piece), c); });
}

// Packs the transpose of keys (count, depth), made unsigned by adding 128. Bytes beyond are 0.
void PackKeys(const int8_t* keys, int64_t stride, int64_t count, int64_t depth, uint32_t* packed) {
  constexpr uint32_t kFlip = 0x80808080u;
  const int64_t whole = depth / kBytesOfWord, words = WordsOf(depth);
  for (int64_t first = 0; first < count; first += kColumns, packed += words * kColumns)
    for (int64_t c = 0; c < kColumns; ++c) {
      const bool exists = first + c < count;
      const int8_t* key = keys + (first + c) * stride;
      for (int64_t w = 0; w < words; ++w) {
        uint32_t word = 0;
        if (exists) {
          const int64_t left = w < whole ? kBytesOfWord : depth - w * kBytesOfWord;
          std::memcpy(&word, key + w * kBytesOfWord, static_cast<size_t>(left));
          word ^= kFlip >> (8 * (kBytesOfWord - left));
        }
        packed[w * kColumns + c] = word;
      }
    }
}

// Packs values (count, columns). Bytes beyond are 0.
void PackValues(const int8_t* values, int64_t stride, int64_t count, int64_t columns, uint32_t* packed) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* bytes = reinterpret_cast<const uint8_t*>(values);
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t width = std::min(kColumns, columns - first);
    for (int64_t k = 0; k < count; k += kBytesOfWord, packed += kColumns) {
      uint8_t copies[kBytesOfWord][kColumns] = {};
      const uint8_t* rows[kBytesOfWord];
      for (int64_t r = 0; r < kBytesOfWord; ++r) {
        const uint8_t* row = bytes + (k + r) * stride + first;
        const bool whole = k + r < count && width == kColumns;
        if (k + r < count && !whole) std::memcpy(copies[r], row, static_cast<size_t>(width));
        rows[r] = whole ? row : copies[r];
      }
      for (int64_t c = 0; c < kColumns; c += lanes) {
        const auto row = [&](int r) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(narrow, rows[r] + c)); };
        const auto low = hn::Or(row(0), hn::ShiftLeft<8>(row(1)));
        const auto high = hn::Or(row(2), hn::ShiftLeft<8>(row(3)));
        hn::Store(hn::Or(low, hn::ShiftLeft<16>(high)), d, packed + c);
      }
    }
  }
}

// Rounds weights times the scales of their values to 255ths of the largest, which is returned. What rounding
// leaves over goes to a later key, as in dithering: many small weights beside a large one would otherwise all
// be too large, or vanish. A weight of 0 stays 0. NaN if one is not finite.
HWY_INLINE float RoundWeights(const float* weights, const float* scales, int64_t width, uint8_t* bytes) {
  const Floats d;
  const hn::Rebind<uint8_t, Floats> narrow;
  constexpr float kMost = 255.0f;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scaled = [&](int64_t c)
                          HWY_ATTR { return hn::Mul(hn::Load(d, weights + c), hn::Load(d, scales + c)); };
  Vector sum = hn::Zero(d), largest = hn::Zero(d);
  for (int64_t c = 0; c < width; c += lanes) {
    sum = hn::Add(sum, scaled(c));
    largest = hn::Max(largest, scaled(c));
  }
  const float total = hn::GetLane(hn::SumOfLanes(d, sum));
  const float inverse = kMost / hn::GetLane(hn::MaxOfLanes(d, largest));
  if (!std::isfinite(total) || !std::isfinite(inverse)) {  // NaN, or weights of (almost) nothing
    std::fill_n(bytes, width, uint8_t{0});
    return std::isfinite(total) ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  }
  // Between -1/2 and 1/2. Each lane begins with another part of it, so that equal weights do not all round
  // alike.
  Vector left =
      hn::MulAdd(hn::Iota(d, 0.5f), hn::Set(d, 1.0f / static_cast<float>(lanes)), hn::Set(d, -0.5f));
  for (int64_t c = 0; c < width; c += lanes) {
    const Vector wanted = hn::MulAdd(scaled(c), hn::Set(d, inverse), left);
    const auto rounded = hn::NearestInt(wanted);
    left = hn::Sub(wanted, hn::ConvertTo(d, rounded));
    hn::StoreU(hn::DemoteTo(narrow, rounded), narrow, bytes + c);
  }
  return 1.0f / inverse;
}

// What a group of keys holds for tiles of queries, in the caller's scratch buffer.
struct Memory {
  Memory(const ByteAttentionBlock& block, int64_t queries, float* data) : words(WordsOf(block.shared)) {
    Scratch scratch(data);
    keys = scratch.take_elements<uint32_t>(kGroup * words);
    values = scratch.take_elements<uint32_t>(WordsOf(kGroup) * round_up(block.values, kColumns));
    query_bytes = reinterpret_cast<std::byte*>(scratch.take(queries * words));
    excess = scratch.take_elements<int32_t>(queries);
    maxima = scratch.take(queries);
    sums = scratch.take(queries);
    scores = scratch.take(kQueryTile * kGroup);
    weights = reinterpret_cast<std::byte*>(scratch.take(kQueryTile * WordsOf(kGroup)));
    weight_scales = scratch.take(kQueryTile * kTilesOfGroup);
    corrections = scratch.take(kQueryTile);
    hidden = scratch.take(kGroup);
    key_scales = scratch.take(kGroup);
    value_scales = scratch.take(kGroup);
  }

  int64_t words;  // of a query or key
  uint32_t *keys, *values;
  std::byte* query_bytes;  // rows of whole words
  int32_t* excess;         // what the bias of the keys adds to products of a query: 128 times its sum
  float *maxima, *sums;    // of each query's softmax so far
  float* scores;           // (kQueryTile, kGroup), then weights
  std::byte* weights;      // the same, rounded
  float* weight_scales;    // (kQueryTile, kTilesOfGroup)
  float* corrections;      // by which the sums so far of a row of the tile are rescaled
  float *hidden, *key_scales, *value_scales;
};

// Queries [begin, end) of a block.
template <AttentionFunction kFunction>
class ByteForward {
 public:
  ByteForward(const ByteAttentionBlock& block, int64_t begin, int64_t end, float* out, int64_t out_stride,
              float* scratch)
      : block_(block),
        queries_(end - begin),
        begin_(begin),
        out_(out + begin * out_stride),
        out_stride_(out_stride),
        memory_(block, queries_, scratch) {}

  void Run() {
    Start();
    const int64_t last = Position(queries_ - 1);
    const int64_t keys = block_.causal ? std::min(block_.keys, last + 1) : block_.keys;
    for (int64_t first = 0; first < keys; first += kGroup) {
      Pack(first, std::min(kGroup, keys - first));
      for (int64_t i = 0; i < queries_; i += kQueryTile) {
        const int64_t rows = std::min(kQueryTile, queries_ - i);
        const int64_t seen = block_.causal ? std::min(keys_, Position(i + rows - 1) + 1 - first) : keys_;
        if (seen <= 0) continue;
        Score(i, rows, seen);
        Weigh(i, rows, seen);
        Add(i, rows, seen);
      }
    }
    if constexpr (kSoftmax)
      for (int64_t i = 0; i < queries_; ++i)
        ScaleRow(out_ + i * out_stride_, block_.values,
                 memory_.sums[i] == 0.0f ? 0.0f : 1.0f / memory_.sums[i]);
  }

 private:
  static constexpr bool kSoftmax = kFunction == AttentionFunction::softmax;
  static int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(Floats())); }

  int64_t Position(int64_t i) const { return block_.first_position + begin_ + i; }
  std::byte* Query(int64_t i) const { return memory_.query_bytes + i * memory_.words * kBytesOfWord; }

  void Start() {
    std::fill_n(memory_.maxima, queries_, -kInfinity);
    std::fill_n(memory_.sums, queries_, 0.0f);
    std::memset(Query(0), 0, static_cast<size_t>(Query(queries_) - Query(0)));
    for (int64_t i = 0; i < queries_; ++i) {
      const int8_t* query = block_.q + (begin_ + i) * block_.q_stride;
      std::memcpy(Query(i), query, static_cast<size_t>(block_.shared));
      memory_.excess[i] = 128 * std::accumulate(query, query + block_.shared, 0);
    }
  }

  void Pack(int64_t first, int64_t count) {
    first_ = first;
    keys_ = count;
    PackKeys(block_.k + first * block_.k_stride, block_.k_stride, count, block_.shared, memory_.keys);
    PackValues(block_.v + first * block_.v_stride, block_.v_stride, count, block_.values, memory_.values);
    FillHidden(block_, first, count, kGroup, memory_.hidden);
    std::fill_n(std::copy_n(block_.k_scales + first, count, memory_.key_scales), kGroup - count, 0.0f);
    std::fill_n(std::copy_n(block_.v_scales + first, count, memory_.value_scales), kGroup - count, 0.0f);
  }

  // Products of the tile of queries from i on with the first `seen` keys.
  void Score(int64_t i, int64_t rows, int64_t seen) const {
    HWY_ALIGN int32_t products[kRowsOfPiece * kColumns];
    ForBlocks(rows, seen, [&](auto of_piece, int64_t first, int64_t c) HWY_ATTR {
      constexpr int kRows = decltype(of_piece)::value;
      const int64_t words = memory_.words;
      MultiplyRows<Unsigned::panel, kRows>(Query(i + first), words * kBytesOfWord, memory_.keys + c * words,
                                           words, products);
      const Floats d;
      for (int64_t r = 0; r < kRows; ++r) {
        const auto excess = hn::Set(Integers(), memory_.excess[i + first + r]);
        const Vector scale = hn::Set(d, block_.q_scales[begin_ + i + first + r]);
        for (int64_t at = 0; at < kColumns; at += Lanes()) {
          const auto exact = hn::Sub(hn::Load(Integers(), products + r * kColumns + at), excess);
          const Vector scales = hn::Mul(hn::Load(d, memory_.key_scales + c + at), scale);
          hn::Store(hn::Mul(hn::ConvertTo(d, exact), scales), d,
                    memory_.scores + (first + r) * kGroup + c + at);
        }
      }
    });
  }

  // Weights of these products, rounded for each kKeyTile keys.
  void Weigh(int64_t i, int64_t rows, int64_t seen) const {
    const int64_t width = round_up(seen, kColumns);
    for (int64_t r = 0; r < rows; ++r) {
      const ScoreRow row = RowOf(block_, begin_ + i + r, first_, keys_, memory_.hidden);
      float* scores = memory_.scores + r * kGroup;
      if constexpr (kSoftmax)
        memory_.corrections[r] =
            SoftmaxRow<Accuracy::bf16>(row, width, scores, memory_.maxima[i + r], memory_.sums[i + r]);
      else
        WeightRow<kFunction, Accuracy::bf16>(row, width, scores);
      for (int64_t at = 0; at < width; at += kKeyTile)
        memory_.weight_scales[r * kTilesOfGroup + at / kKeyTile] =
            RoundWeights(scores + at, memory_.value_scales + at, std::min(kKeyTile, width - at),
                         reinterpret_cast<uint8_t*>(memory_.weights + r * kGroup + at));
    }
  }

  // Adds the weighted values to the output.
  void Add(int64_t i, int64_t rows, int64_t seen) const {
    HWY_ALIGN int32_t products[kRowsOfPiece * kColumns];
    HWY_ALIGN float totals[kRowsOfPiece * kColumns];
    ForBlocks(rows, block_.values, [&](auto of_piece, int64_t first, int64_t c) HWY_ATTR {
      constexpr int kRows = decltype(of_piece)::value;
      const Floats d;
      for (int64_t at = 0; at < seen; at += kKeyTile) {
        MultiplyRows<Unsigned::rows, kRows>(
            memory_.weights + first * kGroup + at, kGroup,
            memory_.values + c * WordsOf(keys_) + at / kBytesOfWord * kColumns,
            WordsOf(std::min(kKeyTile, seen - at)), products);
        for (int64_t r = 0; r < kRows; ++r) {
          const Vector scale = hn::Set(d, memory_.weight_scales[(first + r) * kTilesOfGroup + at / kKeyTile]);
          for (int64_t e = r * kColumns; e < (r + 1) * kColumns; e += Lanes()) {
            const Vector product = hn::ConvertTo(d, hn::Load(Integers(), products + e));
            const Vector before = at == 0 ? hn::Zero(d) : hn::Load(d, totals + e);
            hn::Store(hn::MulAdd(product, scale, before), d, totals + e);
          }
        }
      }
      for (int64_t r = 0; r < kRows; ++r)
        AddRow(totals + r * kColumns, memory_.corrections[first + r], std::min(kColumns, block_.values - c),
               out_ + (i + first + r) * out_stride_ + c);
    });
  }

  HWY_INLINE void AddRow(const float* totals, float correction, int64_t columns, float* to) const {
    const Floats d;
    const auto add = [&](auto view, int64_t at) HWY_ATTR {
      Vector total = hn::Load(d, totals + at);
      if (first_ > 0) {
        const Vector before = view.Load(to + at);
        total = kSoftmax ? hn::MulAdd(before, hn::Set(d, correction), total) : hn::Add(before, total);
      }
      view.Store(total, to + at);
    };
    for (int64_t at = 0; at < columns; at += Lanes()) {
      if (columns - at >= Lanes())
        add(WholeView(), at);
      else
        add(TailView{columns - at}, at);
    }
  }

  const ByteAttentionBlock& block_;
  int64_t queries_, begin_;
  float* out_;  // of the first query
  int64_t out_stride_;
  Memory memory_;
  int64_t first_ = 0, keys_ = 0;  // of the group
};

void ByteAttention(const ByteAttentionBlock& block, int64_t begin, int64_t end, float* out,
                   int64_t out_stride, float* scratch) {
  using F = AttentionFunction;
  switch (block.function) {
    case F::softmax:
      return ByteForward<F::softmax>(block, begin, end, out, out_stride, scratch).Run();
    case F::relu2:
      return ByteForward<F::relu2>(block, begin, end, out, out_stride, scratch).Run();
    case F::laplace:
      return ByteForward<F::laplace>(block, begin, end, out, out_stride, scratch).Run();
  }
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(ByteAttention);

bool prefers_byte_attention() { return native_bytes() && !has_tiles(); }

int64_t byte_attention_scratch(int64_t queries, int64_t shared, int64_t values) {
  const int64_t words = round_up(shared, 64) / 4;
  const int64_t packed = kGroup * words + kGroup * round_up(values, 64) / 4;
  return packed + queries * (words + 3) + kQueryTile * (kGroup + kGroup / 4 + 5) + 3 * kGroup + 16 * 64;
}

void byte_attention(const ByteAttentionBlock& block, int64_t begin, int64_t end, float* out,
                    int64_t out_stride, float* scratch) {
  if (begin >= end) return;
  MEGA_DISPATCH(ByteAttention)(block, begin, end, out, out_stride, scratch);
}

}  // namespace mega::kernels
#endif
