// Sound that is heard as it comes: bare samples, or those of a WAV file. The bytes may be cut anywhere.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mega/data/formats/sound_resampler.h"

namespace mega::data {

// What is not known of samples without a header, which are signed, of 16 bit and little-endian.
struct BareSamples {
  int64_t rate = 0;  // samples per second; 0: the rate that is wanted
  int64_t channels = 1;
};

class SampleDecoder {
 public:
  // `rate`: that of the samples that come out. `name` is that of the stream, for messages. Error if bare
  // samples cannot be converted.
  SampleDecoder(int64_t rate, std::string name, const BareSamples& bare = {});

  // The samples of the next bytes, from -1 to 1: the channels averaged, resampled, as decode_sound does it
  // for whole files. Error where a WAV file has a format that is not known, or samples that are no numbers.
  std::vector<float> decode(std::string_view bytes);
  // At the end of the stream: what the resampler still holds.
  std::vector<float> finish();

 private:
  enum class Place { start, heads, samples };
  enum class Encoding { u8, s16, s24, s32, f32, f64 };
  struct Format {
    Encoding encoding = Encoding::s16;
    int64_t rate = 0, channels = 1;

    size_t sample_bytes() const;
    size_t frame_bytes() const { return sample_bytes() * static_cast<size_t>(channels); }
  };
  static constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

  // False where it needs more bytes.
  bool pass_head();
  Format read_format(std::string_view head) const;
  void begin_samples(const Format& format);
  // The average of the channels of a frame.
  float frame(std::string_view bytes) const;
  void drop(size_t bytes) { pending_.erase(0, bytes); }

  int64_t rate_;
  std::string name_;
  Place place_ = Place::start;
  std::string pending_;           // bytes that are not understood yet
  uint64_t passed_over_ = 0;      // bytes still to be left out
  Format bare_;                   // of samples without a header
  std::optional<Format> header_;  // of a WAV file
  Format format_;                 // of what is being read
  uint64_t left_ = kEndless;      // bytes of samples
  std::optional<SoundResampler> resampler_;
};

}  // namespace mega::data
