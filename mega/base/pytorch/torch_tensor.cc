#include "mega/base/pytorch/torch_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "mega/base/error.h"

namespace mega {
namespace {

static_assert(std::endian::native == std::endian::little, "storages are little endian");

constexpr size_t kMostDimensions = 8;

// With strides of 0, one number can be said to be any number of them: 4 TB in a file of 600 bytes.
constexpr int64_t kMostRepeated = 1 << 24;

float float_of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

float from_bf16(uint16_t bits) { return float_of_bits(static_cast<uint32_t>(bits) << 16); }

// IEEE half precision: sign, 5 bits of exponent, 10 of fraction.
float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
  if (exponent == 0x1F) return float_of_bits(sign | 0x7F800000 | fraction << 13);
  if (exponent == 0) {  // zero and denormals: fraction * 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return float_of_bits(sign | (exponent + (127 - 15)) << 23 | fraction << 13);
}

// The number of elements and of those between the first and the last; false where they overflow.
bool checked_extent(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t& elements,
                    int64_t& last) {
  elements = 1;
  last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0 || strides[i] < 0 || __builtin_mul_overflow(elements, shape[i], &elements)) return false;
    int64_t step = 0;
    if (shape[i] > 0 && (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
                         __builtin_add_overflow(last, step, &last)))
      return false;
  }
  return true;
}

}  // namespace

TorchTensor::TorchTensor(const TorchStorage& storage, int64_t offset, std::vector<int64_t> shape,
                         std::vector<int64_t> strides)
    : storage_(&storage), offset_(offset), shape_(std::move(shape)), strides_(std::move(strides)) {
  require(shape_.size() == strides_.size(), "a tensor with ", shape_.size(), " sizes and ", strides_.size(),
          " strides");
  require(shape_.size() <= kMostDimensions, "a tensor of ", shape_.size(), " dimensions, the maximum is ",
          kMostDimensions);
  int64_t last = 0;
  const bool valid = checked_extent(shape_, strides_, elements_, last) && offset_ >= 0 &&
                     offset_ <= storage.elements && (elements_ == 0 || last < storage.elements - offset_);
  require(valid, "a tensor of shape ", shape_text(shape_), " with strides ", shape_text(strides_),
          " at offset ", offset_, " is not inside its storage of ", storage.elements, " elements");
  require(elements_ <= std::max(storage.elements, kMostRepeated), "a tensor of shape ", shape_text(shape_),
          " that repeats the ", storage.elements, " elements of its storage; the maximum is ", kMostRepeated,
          " elements");
}

TorchTensor TorchTensor::first(int64_t count) const {
  require(!shape_.empty() && count >= 0 && count <= shape_[0], "a tensor of shape ", shape_text(shape_),
          " has no ", count, " rows");
  std::vector<int64_t> shape = shape_;
  shape[0] = count;
  return {*storage_, offset_, std::move(shape), strides_};
}

std::optional<std::span<const std::byte>> TorchTensor::contiguous() const {
  int64_t expected = 1;
  for (size_t i = shape_.size(); i-- > 0 && elements_ > 0;) {
    if (shape_[i] > 1 && strides_[i] != expected) return std::nullopt;
    expected *= shape_[i];
  }
  const auto size = static_cast<size_t>(element_size(dtype()));
  return storage_->data.subspan(static_cast<size_t>(offset_) * size, static_cast<size_t>(elements_) * size);
}

template <class Stored, class Value, class Convert>
void TorchTensor::copy(int64_t begin, std::span<Value> values, Convert convert) const {
  require(begin >= 0 && begin <= elements_ && std::ssize(values) <= elements_ - begin, "elements ", begin,
          " to ", begin + std::ssize(values), " of a tensor that has ", elements_);
  // The index of the first element, and its place in the storage.
  std::vector<int64_t> index(shape_.size());
  int64_t place = offset_;
  for (size_t i = shape_.size(); i-- > 0 && !values.empty();) {
    index[i] = begin % shape_[i];
    begin /= shape_[i];
    place += index[i] * strides_[i];
  }
  const std::byte* data = storage_->data.data();
  for (Value& value : values) {
    Stored stored;
    std::memcpy(&stored, data + static_cast<size_t>(place) * sizeof stored, sizeof stored);
    value = static_cast<Value>(convert(stored));
    for (size_t i = shape_.size(); i-- > 0;) {
      place += strides_[i];
      if (++index[i] < shape_[i]) break;
      place -= index[i] * strides_[i];
      index[i] = 0;
    }
  }
}

template <class Value>
bool TorchTensor::copy_integers(int64_t begin, std::span<Value> values) const {
  const auto same = [](auto stored) { return stored; };
  switch (dtype()) {
    case DType::I64:
      copy<int64_t>(begin, values, same);
      return true;
    case DType::I32:
      copy<int32_t>(begin, values, same);
      return true;
    case DType::I16:
      copy<int16_t>(begin, values, same);
      return true;
    case DType::I8:
      copy<int8_t>(begin, values, same);
      return true;
    case DType::U8:
      copy<uint8_t>(begin, values, same);
      return true;
    default:
      return false;
  }
}

void TorchTensor::read(int64_t begin, std::span<float> values) const {
  const auto same = [](auto stored) { return stored; };
  if (copy_integers(begin, values)) return;
  switch (dtype()) {
    case DType::F64:
      return copy<double>(begin, values, same);
    case DType::F32:
      return copy<float>(begin, values, same);
    case DType::F16:
      return copy<uint16_t>(begin, values, from_half);
    case DType::BF16:
      return copy<uint16_t>(begin, values, from_bf16);
    default:
      return copy<uint8_t>(begin, values, [](uint8_t truth) { return truth != 0; });
  }
}

void TorchTensor::read(int64_t begin, std::span<int64_t> values) const {
  require(copy_integers(begin, values), "a tensor of ", to_string(dtype()), ", expected integers");
}

bool TorchTensor::equals(const TorchTensor& other) const {
  if (shape_ != other.shape_) return false;
  const auto mine = contiguous(), theirs = other.contiguous();
  if (dtype() == other.dtype() && mine && theirs) {
    if (mine->data() == theirs->data()) return true;
    return std::equal(mine->begin(), mine->end(), theirs->begin());
  }
  constexpr int64_t kPiece = 1 << 12;
  std::vector<float> a, b;
  for (int64_t begin = 0; begin < elements_; begin += kPiece) {
    const auto count = static_cast<size_t>(std::min(kPiece, elements_ - begin));
    a.resize(count);
    b.resize(count);
    read(begin, a);
    other.read(begin, b);
    if (std::memcmp(a.data(), b.data(), count * sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace mega
