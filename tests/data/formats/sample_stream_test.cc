#include "mega/data/formats/sample_stream.h"

#include <gtest/gtest.h>

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
    return bytes_of(kind, 2) + bytes_of(channels, 2) + bytes_of(rate, 4) + bytes_of(rate * 2, 4) +
           bytes_of(2, 2) + bytes_of(bits, 2);
  }
};

std::string wav(const std::string& parts) { return "RIFF" + bytes_of(0xFFFFFFFF, 4) + "WAVE" + parts; }

const std::string kSamples = bytes_of(0, 2) + bytes_of(0x4000, 2) + bytes_of(0x8000, 2) + bytes_of(0x7FFF, 2);
const std::vector<float> kHeard = {0.0F, 0.5F, -1.0F, 32767.0F / 32768.0F};

// In pieces of so many bytes.
std::vector<float> decode(const std::string& bytes, size_t piece) {
  SampleDecoder decoder(8000, "stream");
  std::vector<float> all;
  for (size_t begin = 0; begin < bytes.size(); begin += piece)
    for (const float sample : decoder.decode(std::string_view(bytes).substr(begin, piece)))
      all.push_back(sample);
  return all;
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
  EXPECT_PRED2(contains, refusal(wav(part("fmt ", format + bytes_of(3, 2) + std::string(14, 'x')))),
               "format 3");
}

TEST(SampleDecoder, AnotherFormatIsRefused) {
  const auto with = [](const Format& format) { return wav(part("fmt ", format.bytes())); };
  EXPECT_PRED2(contains, refusal(with({.kind = 3, .bits = 32})), "samples of 32 bits in format 3");
  EXPECT_PRED2(contains, refusal(with({.bits = 8})), "samples of 8 bits");
  EXPECT_PRED2(contains, refusal(with({.channels = 2})), "2 channels");
  EXPECT_PRED2(contains, refusal(with({.rate = 44100})), "stream: has 44100 samples a second");
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
