#include "mega/infer/layers/key_value_cache.h"

#include <algorithm>
#include <cstdlib>

#include "mega/base/aligned.h"

namespace mega::infer {
namespace {

using kernels::WeightType;

void store(const float* row, int64_t count, WeightType type, std::byte* to, int64_t index) {
  if (type == WeightType::bf16) {
    kernels::to_bf16(row, reinterpret_cast<uint16_t*>(to) + index, count);
  } else {
    std::copy_n(row, count, reinterpret_cast<float*>(to) + index);
  }
}

void load(const void* from, int64_t count, WeightType type, float* to) {
  if (type == WeightType::bf16) {
    kernels::from_bf16(static_cast<const uint16_t*>(from), to, count);
  } else {
    std::copy_n(static_cast<const float*>(from), count, to);
  }
}

void load(const void* from, int64_t count, WeightType type, uint16_t* to) {
  if (type == WeightType::bf16) {
    std::copy_n(static_cast<const uint16_t*>(from), count, to);
  } else {
    kernels::to_bf16(static_cast<const float*>(from), to, count);
  }
}

}  // namespace

KeyValueCache::Page KeyValueCache::make_pages(int64_t count) const {
  return {static_cast<std::byte*>(allocate_aligned(static_cast<size_t>(count * page_bytes()))),
          [](std::byte* memory) { std::free(memory); }};
}

KeyValueCache::KeyValueCache(const KeyValueCache& other)
    : shared_(other.shared_),
      values_(other.values_),
      type_(other.type_),
      page_(other.page_),
      size_(other.size_),
      pages_(other.pages_) {
  const int64_t used = size_ % page_;
  if (used == 0) return;
  Page copy = make_pages(1);
  const std::byte* from = pages_.back().get();
  std::copy_n(from, used * shared_ * element_bytes(), copy.get());
  std::copy_n(from + keys_bytes(), used * values_ * element_bytes(), copy.get() + keys_bytes());
  pages_.back() = std::move(copy);
}

void KeyValueCache::append(kernels::ConstRows keys, kernels::ConstRows values, int64_t begin, int64_t count) {
  if (const int64_t more = (size_ + count + page_ - 1) / page_ - pages(); more > 0) {
    const Page first = make_pages(more);
    for (int64_t i = 0; i < more; ++i) pages_.emplace_back(first, first.get() + i * page_bytes());
  }
  for (int64_t row = begin; row < begin + count; ++row, ++size_) {
    const int64_t slot = size_ % page_;
    std::byte* page = pages_[static_cast<size_t>(size_ / page_)].get();
    store(keys[row], shared_, type_, page, slot * shared_);
    store(values[row], values_, type_, page + keys_bytes(), slot * values_);
  }
}

void KeyValueCache::clear() {
  pages_.clear();
  size_ = 0;
}

kernels::KeyValuePage KeyValueCache::page(int64_t index) const {
  const std::byte* page = pages_[static_cast<size_t>(index)].get();
  return {type_, page, page + keys_bytes(), std::min(page_, size_ - index * page_)};
}

template <class T>
void KeyValueCache::copy_page(int64_t index, T* keys, T* values) const {
  const kernels::KeyValuePage from = page(index);
  load(from.keys, from.count * shared_, type_, keys + index * page_ * shared_);
  load(from.values, from.count * values_, type_, values + index * page_ * values_);
}
template void KeyValueCache::copy_page(int64_t index, float* keys, float* values) const;
template void KeyValueCache::copy_page(int64_t index, uint16_t* keys, uint16_t* values) const;

void KeyValueCache::quantize_page(int64_t index, QuantizedRows keys, QuantizedRows values) const {
  const kernels::KeyValuePage from = page(index);
  std::vector<float> copy;
  const auto quantize = [&](const void* rows, int64_t columns, QuantizedRows to) {
    const auto* floats = static_cast<const float*>(rows);
    if (type_ != WeightType::f32) {
      copy.resize(static_cast<size_t>(from.count * columns));
      load(rows, from.count * columns, type_, copy.data());
      floats = copy.data();
    }
    kernels::quantize_rows({floats, columns}, to.numbers + index * page_ * columns, to.scales + index * page_,
                           0, from.count, columns);
  };
  quantize(from.keys, shared_, keys);
  quantize(from.values, values_, values);
}

}  // namespace mega::infer
