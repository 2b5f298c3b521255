// Cached keys and values of the open chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mega/kernels/attention_step.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

// Element type of the cache. bf16 halves its size, and thus most of the memory that a token late in its chunk
// reads, at a precision of three digits.
enum class CacheType { f32, bf16 };

inline kernels::WeightType weight_type(CacheType cache) {
  return cache == CacheType::bf16 ? kernels::WeightType::bf16 : kernels::WeightType::f32;
}

// Pages of consecutive positions. A full page never changes, so copies of a cache share it; the last, partial
// page is copied.
class KeyValueCache {
 public:
  static constexpr int64_t kPage = 64;  // most positions of a page

  KeyValueCache() = default;
  // Keys of width Z and values of width V, stored as f32 or bf16. Where forks are frequent, short pages of
  // `page` positions leave less to copy.
  KeyValueCache(int64_t shared, int64_t values, kernels::WeightType type, int64_t page = kPage)
      : shared_(shared), values_(values), type_(type), page_(page) {}
  KeyValueCache(const KeyValueCache& other);
  KeyValueCache& operator=(const KeyValueCache& other) { return *this = KeyValueCache(other); }
  KeyValueCache(KeyValueCache&&) = default;
  KeyValueCache& operator=(KeyValueCache&&) = default;

  // Rows [begin, begin + count) of keys (., Z) and values (., V).
  void append(kernels::ConstRows keys, kernels::ConstRows values, int64_t begin, int64_t count);
  void clear();

  int64_t size() const { return size_; }
  int64_t shared() const { return shared_; }
  int64_t values() const { return values_; }
  int64_t pages() const { return static_cast<int64_t>(pages_.size()); }
  int64_t page_positions() const { return page_; }
  kernels::KeyValuePage page(int64_t index) const;

  // Copies a page to its place in contiguous keys (size, Z) and values (size, V), of float or of bf16.
  template <class T>
  void copy_page(int64_t index, T* keys, T* values) const;

  // The same, quantised as by kernels::quantize_rows.
  struct QuantizedRows {
    int8_t* numbers;
    float* scales;
  };
  void quantize_page(int64_t index, QuantizedRows keys, QuantizedRows values) const;

  kernels::WeightType type() const { return type_; }
  int64_t bytes() const { return pages() * page_bytes(); }

 private:
  // Keys (page, Z), then values (page, V). Uninitialised: a position is written before it is read.
  using Page = std::shared_ptr<std::byte>;

  // So many pages next to each other: the first, which keeps the memory of all.
  Page make_pages(int64_t count) const;

  int64_t element_bytes() const { return type_ == kernels::WeightType::bf16 ? 2 : 4; }
  int64_t keys_bytes() const { return page_ * shared_ * element_bytes(); }
  int64_t page_bytes() const { return page_ * (shared_ + values_) * element_bytes(); }

  int64_t shared_ = 0, values_ = 0;
  kernels::WeightType type_ = kernels::WeightType::f32;
  int64_t page_ = kPage;
  int64_t size_ = 0;
  std::vector<Page> pages_;
};

}  // namespace mega::infer
