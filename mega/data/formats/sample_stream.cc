#include "mega/data/formats/sample_stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "mega/base/error.h"

namespace mega::data {
namespace {

uint64_t little_endian(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

uint32_t number_at(std::string_view bytes, size_t at, size_t count) {
  return static_cast<uint32_t>(little_endian(bytes, at, count));
}

// A whole number of the top bits of 32: from -1 to 1.
float from_integer(uint32_t top_bits) {
  return static_cast<float>(static_cast<int32_t>(top_bits)) / 2147483648.0F;
}

// What programs write that do not know how long it will be: 0, or nearly as much as fits, in 31 or 32 bits.
bool is_endless(uint32_t size) { return size == 0 || size >= 0x7FFF0000; }

}  // namespace

size_t SampleDecoder::Format::sample_bytes() const {
  switch (encoding) {
    case Encoding::u8:
      return 1;
    case Encoding::s16:
      return 2;
    case Encoding::s24:
      return 3;
    case Encoding::s32:
    case Encoding::f32:
      return 4;
    case Encoding::f64:
      return 8;
  }
  return 0;
}

SampleDecoder::SampleDecoder(int64_t rate, std::string name, const BareSamples& bare)
    : rate_(rate), name_(std::move(name)) {
  constexpr int64_t kMostChannels = 1 << 16;
  require(bare.channels >= 1 && bare.channels <= kMostChannels, name_, ": ", bare.channels,
          " channels: expected 1 to ", kMostChannels);
  bare_ = {Encoding::s16, bare.rate == 0 ? rate : bare.rate, bare.channels};
  check_rates(bare_.rate, rate_, name_);
}

std::vector<float> SampleDecoder::decode(std::string_view bytes) {
  pending_.append(bytes);
  while (place_ != Place::samples) {
    const auto over = static_cast<size_t>(std::min<uint64_t>(passed_over_, pending_.size()));
    drop(over);
    passed_over_ -= over;
    if (passed_over_ > 0 || !pass_head()) return {};
  }
  const size_t size = format_.frame_bytes();
  const size_t frames = static_cast<size_t>(std::min<uint64_t>(left_, pending_.size())) / size;
  std::vector<float> samples;
  samples.reserve(frames);
  for (size_t i = 0; i < frames; ++i) {
    samples.push_back(frame(std::string_view(pending_).substr(i * size, size)));
    require(std::isfinite(samples.back()), name_, ": has a sample that is no number");
  }
  if (left_ != kEndless) left_ -= frames * size;
  drop(left_ == 0 ? pending_.size() : frames * size);  // what stands behind the samples is no sound
  return resampler_ ? resampler_->feed(samples) : samples;
}

std::vector<float> SampleDecoder::finish() {
  return resampler_ ? resampler_->finish() : std::vector<float>();
}

float SampleDecoder::frame(std::string_view bytes) const {
  float sum = 0.0F;
  const size_t width = format_.sample_bytes();
  for (size_t at = 0; at < bytes.size(); at += width) {
    const uint64_t bits = little_endian(bytes, at, width);
    if (format_.encoding == Encoding::f32)
      sum += std::bit_cast<float>(static_cast<uint32_t>(bits));
    else if (format_.encoding == Encoding::f64)
      sum += static_cast<float>(std::bit_cast<double>(bits));
    else if (format_.encoding == Encoding::u8)
      sum += from_integer(static_cast<uint32_t>(bits - 128) << 24);
    else
      sum += from_integer(static_cast<uint32_t>(bits << (32 - 8 * width)));
  }
  return sum / static_cast<float>(format_.channels);
}

void SampleDecoder::begin_samples(const Format& format) {
  format_ = format;
  if (format.rate != rate_) resampler_.emplace(format.rate, rate_, name_);
  place_ = Place::samples;
}

bool SampleDecoder::pass_head() {
  constexpr std::string_view kRiff = "RIFF", kWave = "WAVE";
  if (place_ == Place::start) {
    if (kRiff.substr(0, pending_.size()) != std::string_view(pending_).substr(0, kRiff.size())) {
      begin_samples(bare_);
      return true;
    }
    if (pending_.size() < 12) return false;
    require(pending_.substr(8, 4) == kWave, name_, ": a RIFF file, but not one of sound (WAVE)");
    drop(12);
    place_ = Place::heads;
  }
  if (pending_.size() < 8) return false;
  const std::string kind = pending_.substr(0, 4);
  const uint32_t size = number_at(pending_, 4, 4);
  if (kind == "data") {
    require(header_.has_value(), name_, ": a WAV file whose sound comes before its format");
    begin_samples(*header_);
    left_ = is_endless(size) ? kEndless : size / format_.frame_bytes() * format_.frame_bytes();
    drop(8);
    return true;
  }
  const uint64_t whole = uint64_t{size} + size % 2;  // parts begin at even places
  if (kind == "fmt ") {
    constexpr uint32_t kLargest = 1 << 10;
    require(size >= 16 && size <= kLargest, name_, ": a WAV file with a format of ", size, " bytes");
    if (pending_.size() < 8 + whole) return false;
    header_ = read_format(std::string_view(pending_).substr(8, size));
  }
  passed_over_ = 8 + whole;
  return true;
}

SampleDecoder::Format SampleDecoder::read_format(std::string_view head) const {
  constexpr uint32_t kInteger = 1, kFloat = 3, kExtensible = 0xFFFE;
  uint32_t kind = number_at(head, 0, 2);
  if (kind == kExtensible && head.size() >= 26) kind = number_at(head, 24, 2);
  const uint32_t channels = number_at(head, 2, 2), rate = number_at(head, 4, 4),
                 bits = number_at(head, 14, 2);
  Format format;
  format.rate = rate;
  format.channels = channels;
  if (kind == kInteger && (bits == 8 || bits == 16 || bits == 24 || bits == 32))
    format.encoding = bits == 8    ? Encoding::u8
                      : bits == 16 ? Encoding::s16
                      : bits == 24 ? Encoding::s24
                                   : Encoding::s32;
  else if (kind == kFloat && (bits == 32 || bits == 64))
    format.encoding = bits == 32 ? Encoding::f32 : Encoding::f64;
  else
    fail(name_, ": samples of ", bits, " bits in format ", kind,
         ": expected whole numbers of 8, 16, 24 or 32 bits, or floats; sox or ffmpeg can convert");
  require(channels >= 1, name_, ": a WAV file without channels");
  check_rates(rate, rate_, name_);
  return format;
}

}  // namespace mega::data
