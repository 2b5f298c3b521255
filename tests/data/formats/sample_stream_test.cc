#include "mega/data/formats/sample_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "mega/data/formats/sound_file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;

std::string bytes_of(uint32_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string part(const std::string& name, const std::string& body) {
  return name + bytes_of(static_cast<uint32_t>(body.size()), 4) + body + (body.size() % 2 == 1 ? "\n" : "");
}

struct Format {
  uint32_t kind = 1, channels = 1, rate = 8000, bits = 16;

  std::string bytes() const {
    const uint32_t frame = channels * bits / 8;
    return bytes_of(kind, 2) + bytes_of(channels, 2) + bytes_of(rate, 4) + bytes_of(rate * frame, 4) +
           bytes_of(frame, 2) + bytes_of(bits, 2);
  }
};

std::string wav(const std::string& parts) { return "RIFF" + bytes_of(0xFFFFFFFF, 4) + "WAVE" + parts; }

const std::string kSamples = bytes_of(0, 2) + bytes_of(0x4000, 2) + bytes_of(0x8000, 2) + bytes_of(0x7FFF, 2);
const std::vector<float> kHeard = {0.0F, 0.5F, -1.0F, 32767.0F / 32768.0F};

std::vector<float> decode(SampleDecoder decoder, const std::string& bytes,
                          const std::function<size_t()>& piece) {
  std::vector<float> all;
  const auto add = [&](const std::vector<float>& samples) {
    all.insert(all.end(), samples.begin(), samples.end());
  };
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t size = std::min(piece(), bytes.size() - begin);
    add(decoder.decode(std::string_view(bytes).substr(begin, size)));
    begin += size;
  }
  add(decoder.finish());
  return all;
}

// In pieces of so many bytes.
std::vector<float> decode(const std::string& bytes, size_t piece) {
  return decode(SampleDecoder(8000, "stream"), bytes, [piece] { return piece; });
}

// At this rate, the same however it is cut.
std::vector<float> decode_at(int64_t rate, const std::string& bytes, const BareSamples& bare = {}) {
  const auto decoder = [&] { return SampleDecoder(rate, "stream", bare); };
  const std::vector<float> whole = decode(decoder(), bytes, [&] { return bytes.size(); });
  std::mt19937 random(1);
  for (const size_t longest : {3u, 200u, 20000u})
    EXPECT_EQ(decode(decoder(), bytes, [&] { return 1 + random() % longest; }), whole) << longest;
  return whole;
}

// A swept tone, from -1 to 1.
float tone(size_t i) {
  const double t = static_cast<double>(i);
  return static_cast<float>(0.7 * std::sin(t * (0.02 + t * 1e-5)) + 0.2 * std::sin(0.3 * t));
}

// One sample in an encoding.
std::string encoded(float x, uint32_t kind, uint32_t bits) {
  if (kind == 3 && bits == 64) {
    const auto number = std::bit_cast<uint64_t>(static_cast<double>(x));
    return bytes_of(static_cast<uint32_t>(number), 4) + bytes_of(static_cast<uint32_t>(number >> 32), 4);
  }
  if (kind == 3) return bytes_of(std::bit_cast<uint32_t>(x), 4);
  const auto number = static_cast<int64_t>(std::ldexp(static_cast<double>(x), static_cast<int>(bits) - 1));
  return bytes_of(static_cast<uint32_t>(bits == 8 ? number + 128 : number), static_cast<int>(bits / 8));
}

// A file whose channels are different.
std::string tone_wav(const Format& format, size_t frames) {
  std::string samples;
  for (size_t i = 0; i < frames; ++i)
    for (uint32_t channel = 0; channel < format.channels; ++channel)
      samples += encoded(tone(i) / static_cast<float>(1 + channel), format.kind, format.bits);
  return wav(part("fmt ", format.bytes()) + part("data", samples));
}

AudioInput whole_clip(int64_t rate) {
  AudioInput input;
  input.rate = rate;
  input.length = 0;
  return input;
}

std::string refusal(const std::string& bytes) {
  return error_of([&] { decode(bytes, 7); });
}

TEST(SampleDecoder, CutsMakeNoDifference) {
  const std::string whole =
      wav(part("fmt ", Format().bytes()) + part("LIST", "abc") + part("data", kSamples));
  for (const size_t piece : {1u, 2u, 3u, 5u, 8u, 1000u}) {
    EXPECT_EQ(decode(kSamples, piece), kHeard);
    EXPECT_EQ(decode(whole, piece), kHeard);
    EXPECT_EQ(decode(whole + part("LIST", "what comes behind"), piece), kHeard);
  }
  EXPECT_EQ(decode(wav(part("fmt ", Format().bytes()) + part("data", kSamples + "x")), 3), kHeard);
  EXPECT_TRUE(decode("", 1).empty());
  EXPECT_TRUE(decode("R", 1).empty());
  EXPECT_EQ(decode("RI", 1).size(), 0u);
  EXPECT_EQ(decode("RIFLE!", 2).size(), 3u);  // no head after all
}

TEST(SampleDecoder, EveryEncodingIsReadAsFromAFile) {
  for (const Format& format : {Format{.bits = 8}, Format{}, Format{.bits = 24}, Format{.bits = 32},
                               Format{.kind = 3, .bits = 32}, Format{.kind = 3, .bits = 64}})
    for (const uint32_t channels : {1u, 2u, 5u}) {
      Format own = format;
      own.channels = channels;
      const std::string file = tone_wav(own, 300);
      const std::vector<float> heard = decode_at(8000, file);
      ASSERT_EQ(heard.size(), 300u);
      EXPECT_EQ(heard, decode_sound(file, whole_clip(8000), "file")) << own.kind << " " << own.bits;
    }
}

TEST(SampleDecoder, ResamplesAsAWholeFile) {
  for (const uint32_t rate : {44100u, 16000u, 11025u, 4000u, 7999u})
    for (const uint32_t channels : {1u, 2u}) {
      const std::string file = tone_wav({.channels = channels, .rate = rate}, 20000);
      const std::vector<float> heard = decode_at(8000, file);
      const std::vector<float> whole = decode_sound(file, whole_clip(8000), "file");
      EXPECT_NEAR(static_cast<double>(heard.size()), 20000.0 * 8000 / rate, 2.0);
      EXPECT_NEAR(static_cast<double>(heard.size()), static_cast<double>(whole.size()), 1.0);
      for (size_t i = 0; i < std::min(heard.size(), whole.size()); ++i) ASSERT_EQ(heard[i], whole[i]) << i;
    }
}

TEST(SampleDecoder, BareSamplesOfAnotherRateAndMoreChannels) {
  const Format stereo{.channels = 2, .rate = 44100};
  const std::string file = tone_wav(stereo, 5000);
  const std::string bare = file.substr(file.size() - 20000);
  EXPECT_EQ(decode_at(8000, bare, {44100, 2}), decode_at(8000, file));
  // A header knows better.
  EXPECT_EQ(decode_at(8000, file, {16000, 1}), decode_at(8000, file));
  EXPECT_PRED2(contains, error_of([] { SampleDecoder(8000, "stream", {8000, 0}); }), "0 channels");
  EXPECT_PRED2(contains, error_of([] {
                 SampleDecoder(8000, "stream", {1, 1});
               }),
               "cannot be resampled to 8000");
}

TEST(SampleDecoder, AnEndlessFileHasNoLength) {
  for (const uint32_t size : {0u, 0xFFFFFFFFu, 0x7FFFFFDBu, 0x80000000u}) {
    const std::string head = wav(part("fmt ", Format().bytes()) + "data" + bytes_of(size, 4));
    EXPECT_EQ(decode(head + kSamples, 3), kHeard) << size;
  }
}

TEST(SampleDecoder, ReadsTheExtensibleFormatToo) {
  std::string format = Format{.kind = 0xFFFE}.bytes() + bytes_of(22, 2) + bytes_of(16, 2) + bytes_of(4, 4);
  EXPECT_EQ(
      decode(wav(part("fmt ", format + bytes_of(1, 2) + std::string(14, 'x')) + part("data", kSamples)), 4),
      kHeard);
  EXPECT_PRED2(contains, refusal(wav(part("fmt ", format + bytes_of(7, 2) + std::string(14, 'x')))),
               "format 7");
}

TEST(SampleDecoder, AnotherFormatIsRefused) {
  const auto with = [](const Format& format) { return wav(part("fmt ", format.bytes())); };
  EXPECT_PRED2(contains, refusal(with({.kind = 3, .bits = 16})), "samples of 16 bits in format 3");
  EXPECT_PRED2(contains, refusal(with({.kind = 6, .bits = 8})), "samples of 8 bits in format 6");
  EXPECT_PRED2(contains, refusal(with({.bits = 12})), "samples of 12 bits");
  EXPECT_PRED2(contains, refusal(with({.channels = 0})), "without channels");
  EXPECT_PRED2(contains, refusal(with({.rate = 0})), "stream: 0 samples per second cannot be resampled");
  EXPECT_PRED2(contains, refusal(with({.rate = 0xFFFFFFFF})), "cannot be resampled to 8000");
  EXPECT_PRED2(contains,
               refusal(wav(part("fmt ", Format{.kind = 3, .bits = 32}.bytes()) +
                           part("data", bytes_of(0x7FC00000, 4)))),
               "no number");
  EXPECT_PRED2(contains, refusal(wav(part("fmt ", "short"))), "a format of 5 bytes");
  EXPECT_PRED2(contains, refusal(wav("fmt " + bytes_of(0xFFFFFFFF, 4))), "a format of 4294967295 bytes");
  EXPECT_PRED2(contains, refusal(wav(part("data", kSamples))), "before its format");
  EXPECT_PRED2(contains, refusal("RIFF1234AVI "), "not one of sound");
}

TEST(SampleDecoder, ALongPartIsPassedOverWithoutBeingKept) {
  const std::string head = wav("junk" + bytes_of(0xFFFFFFFE, 4));
  SampleDecoder decoder(8000, "stream");
  EXPECT_TRUE(decoder.decode(head).empty());
  const std::string noise(1 << 16, 'x');
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(decoder.decode(noise).empty());
}

}  // namespace
}  // namespace mega::data
