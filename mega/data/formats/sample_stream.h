// Sound that is heard as it comes: signed samples of 16 bit, little-endian, of one channel, bare or after the
// head of a WAV file. The bytes may be cut anywhere.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace mega::data {

class SampleDecoder {
 public:
  // `name` is that of the stream, for messages.
  SampleDecoder(int64_t rate, std::string name) : rate_(rate), name_(std::move(name)) {}

  // The samples of the next bytes, from -1 to 1. Error where a WAV file has another rate or format.
  std::vector<float> decode(std::string_view bytes);

 private:
  enum class Place { start, heads, samples };
  static constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

  // False where it needs more bytes.
  bool pass_head();
  void check_format(std::string_view format) const;
  void drop(size_t bytes) { pending_.erase(0, bytes); }

  int64_t rate_;
  std::string name_;
  Place place_ = Place::start;
  std::string pending_;       // bytes that are not understood yet
  uint64_t passed_over_ = 0;  // bytes still to be left out
  bool has_format_ = false;
  uint64_t left_ = kEndless;  // bytes of samples
};

}  // namespace mega::data
