#include "mega/data/formats/sample_stream.h"

#include <algorithm>
#include <utility>

#include "mega/base/error.h"

namespace mega::data {
namespace {

uint32_t little_endian(std::string_view bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// What programs write that do not know how long it will be: 0, or nearly as much as fits, in 31 or 32 bits.
bool is_endless(uint32_t size) { return size == 0 || size >= 0x7FFF0000; }

}  // namespace

std::vector<float> SampleDecoder::decode(std::string_view bytes) {
  pending_.append(bytes);
  while (place_ != Place::samples) {
    const auto over = static_cast<size_t>(std::min<uint64_t>(passed_over_, pending_.size()));
    drop(over);
    passed_over_ -= over;
    if (passed_over_ > 0 || !pass_head()) return {};
  }
  const auto size = static_cast<size_t>(std::min<uint64_t>(left_, pending_.size())) / 2 * 2;
  std::vector<float> samples;
  samples.reserve(size / 2);
  for (size_t i = 0; i < size; i += 2) {
    const auto sample = static_cast<int16_t>(little_endian(pending_, i, 2));
    samples.push_back(static_cast<float>(sample) / 32768.0F);
  }
  if (left_ != kEndless) left_ -= size;
  drop(left_ == 0 ? pending_.size() : size);  // what stands behind the samples is no sound
  return samples;
}

bool SampleDecoder::pass_head() {
  constexpr std::string_view kRiff = "RIFF", kWave = "WAVE";
  if (place_ == Place::start) {
    if (kRiff.substr(0, pending_.size()) != std::string_view(pending_).substr(0, kRiff.size())) {
      place_ = Place::samples;
      return true;
    }
    if (pending_.size() < 12) return false;
    require(pending_.substr(8, 4) == kWave, name_, ": a RIFF file, but not one of sound (WAVE)");
    drop(12);
    place_ = Place::heads;
  }
  if (pending_.size() < 8) return false;
  const std::string kind = pending_.substr(0, 4);
  const uint32_t size = little_endian(pending_, 4, 4);
  if (kind == "data") {
    require(has_format_, name_, ": a WAV file whose sound comes before its format");
    left_ = is_endless(size) ? kEndless : size / 2 * 2;
    drop(8);
    place_ = Place::samples;
    return true;
  }
  const uint64_t whole = uint64_t{size} + size % 2;  // parts begin at even places
  if (kind == "fmt ") {
    constexpr uint32_t kLargest = 1 << 10;
    require(size >= 16 && size <= kLargest, name_, ": a WAV file with a format of ", size, " bytes");
    if (pending_.size() < 8 + whole) return false;
    check_format(std::string_view(pending_).substr(8, size));
    has_format_ = true;
  }
  passed_over_ = 8 + whole;
  return true;
}

void SampleDecoder::check_format(std::string_view format) const {
  constexpr uint32_t kPcm = 1, kExtensible = 0xFFFE;
  uint32_t kind = little_endian(format, 0, 2);
  if (kind == kExtensible && format.size() >= 26) kind = little_endian(format, 24, 2);
  const uint32_t channels = little_endian(format, 2, 2), rate = little_endian(format, 4, 4),
                 bits = little_endian(format, 14, 2);
  require(kind == kPcm && bits == 16, name_, ": samples of ", bits, " bits in format ", kind,
          ": expected whole numbers of 16 bits; sox or ffmpeg can convert");
  require(channels == 1, name_, ": has ", channels, " channels, expected 1: sox or ffmpeg can mix them");
  require(rate == rate_, name_, ": has ", rate, " samples a second, the model was trained with ", rate_,
          ": sox or ffmpeg can resample");
}

}  // namespace mega::data
