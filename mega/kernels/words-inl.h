// Matrices whose elements are words: 32 bits, two bf16 values or four bytes, that are neighbours along the
// depth of a product. Included where the instruction set multiplies words (AVX-512).
#if defined(MEGA_KERNELS_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_WORDS_INL_H_
#undef MEGA_KERNELS_WORDS_INL_H_
#else
#define MEGA_KERNELS_WORDS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3

using Word = uint32_t;
using Words = hn::ScalableTag<Word>;
using WordVector = hn::Vec<Words>;

inline constexpr int kWordLanes = 16;
inline constexpr int kPanelColumns = 2 * kWordLanes;

HWY_INLINE void Transpose(WordVector (&v)[kWordLanes]) {
  const Words d;
  const hn::Repartition<uint64_t, Words> pairs;
  const auto low = [&](WordVector a, WordVector b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto high = [&](WordVector a, WordVector b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto even_blocks = [](WordVector a, WordVector b)
                               HWY_ATTR { return WordVector{_mm512_shuffle_i32x4(a.raw, b.raw, 0x88)}; };
  const auto odd_blocks = [](WordVector a, WordVector b)
                              HWY_ATTR { return WordVector{_mm512_shuffle_i32x4(a.raw, b.raw, 0xDD)}; };
  // Within blocks of four words: block b of vector 4 g + j becomes column 4 b + j of the rows 4 g to 4 g + 3.
  HWY_UNROLL(4)
  for (int g = 0; g < kWordLanes; g += 4) {
    const WordVector a = hn::InterleaveLower(d, v[g], v[g + 1]), b = hn::InterleaveUpper(d, v[g], v[g + 1]),
                     c = hn::InterleaveLower(d, v[g + 2], v[g + 3]),
                     e = hn::InterleaveUpper(d, v[g + 2], v[g + 3]);
    v[g] = low(a, c);
    v[g + 1] = high(a, c);
    v[g + 2] = low(b, e);
    v[g + 3] = high(b, e);
  }
  // Then whole blocks.
  HWY_UNROLL(4)
  for (int j = 0; j < 4; ++j) {
    const WordVector a = even_blocks(v[j], v[j + 4]), b = even_blocks(v[j + 8], v[j + 12]),
                     c = odd_blocks(v[j], v[j + 4]), e = odd_blocks(v[j + 8], v[j + 12]);
    v[j] = even_blocks(a, b);
    v[j + 4] = even_blocks(c, e);
    v[j + 8] = odd_blocks(a, b);
    v[j + 12] = odd_blocks(c, e);
  }
}

// What packing does beside: nothing, or fetch the bytes that follow these rows, where the next panel will be
// packed from. Addresses beyond the matrix are harmless.
enum class Prefetch { nothing, next_rows };

// Packs up to kPanelColumns rows, row_bytes apart, of `values` 16-bit values each, as the columns of a panel:
// word w of row r becomes panel[w * kPanelColumns + r], up to `words` words. Values and rows that there are
// not count as zeros. All words are xored with `flip`.
template <Prefetch kPrefetch>
HWY_NOINLINE void PackWords(const std::byte* rows, int64_t row_bytes, int64_t count, int64_t values,
                            int64_t words, Word flip, Word* panel) {
  const Words d;
  constexpr int64_t kLine = 64, kValues = 2 * kWordLanes;
  const std::byte* next = rows + count * row_bytes;
  const WordVector flips = hn::Set(d, flip);
  for (int64_t first = 0; first < kPanelColumns; first += kWordLanes) {
    const int64_t present = std::clamp<int64_t>(count - first, 0, kWordLanes);
    for (int64_t w = 0; w < words; w += kWordLanes) {
      const int64_t left = std::clamp<int64_t>(values - 2 * w, 0, kValues);
      const auto mask = static_cast<__mmask32>((uint64_t{1} << left) - 1);
      const std::byte* from = rows + first * row_bytes + w * static_cast<int64_t>(sizeof(Word));
      WordVector block[kWordLanes];
      HWY_UNROLL(16)
      for (int r = 0; r < kWordLanes; ++r) {
        block[r] = WordVector{_mm512_maskz_loadu_epi16(r < present ? mask : 0, from + r * row_bytes)};
        if constexpr (kPrefetch == Prefetch::next_rows) __builtin_prefetch(next + r * kLine, 0, 2);
      }
      next += kWordLanes * kLine;
      Transpose(block);
      Word* to = panel + w * kPanelColumns + first;
      if (words - w >= kWordLanes) {
        HWY_UNROLL(16)
        for (int c = 0; c < kWordLanes; ++c) hn::Store(hn::Xor(block[c], flips), d, to + c * kPanelColumns);
      } else {
        for (int64_t c = 0; c < words - w; ++c)
          hn::Store(hn::Xor(block[c], flips), d, to + c * kPanelColumns);
      }
    }
  }
}

#endif  // HWY_AVX3

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
