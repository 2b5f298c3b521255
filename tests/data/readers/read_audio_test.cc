#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <numbers>

#include "mega/data/readers/readers.h"
#include "tests/base/helpers.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

using ::mega::testing::collect;
using ::mega::testing::contains;
using ::mega::testing::error_of;
using ::mega::testing::Records;
using ::mega::testing::ScratchFolder;

template <class T>
void append(std::string& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);  // the test's machines are little endian, as WAV is
}

// A WAV file; T is int16_t (PCM) or float. The samples of a frame stand together.
template <class T>
std::string wav(const std::vector<T>& samples, uint32_t rate = 16000, uint16_t channels = 1) {
  const auto size = static_cast<uint32_t>(samples.size() * sizeof(T));
  const bool is_float = std::is_same_v<T, float>;
  std::string bytes = "RIFF";
  append<uint32_t>(bytes, 36 + size);
  bytes += "WAVEfmt ";
  append<uint32_t>(bytes, 16);
  append<uint16_t>(bytes, is_float ? 3 : 1);
  append<uint16_t>(bytes, channels);
  append<uint32_t>(bytes, rate);
  append<uint32_t>(bytes, rate * channels * static_cast<uint32_t>(sizeof(T)));
  append<uint16_t>(bytes, static_cast<uint16_t>(channels * sizeof(T)));
  append<uint16_t>(bytes, 8 * sizeof(T));
  bytes += "data";
  append<uint32_t>(bytes, size);
  for (const T sample : samples) append(bytes, sample);
  return bytes;
}

std::vector<int16_t> tone(double hertz, uint32_t rate, size_t count) {
  std::vector<int16_t> samples(count);
  for (size_t i = 0; i < count; ++i) {
    samples[i] = static_cast<int16_t>(
        16384 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / static_cast<double>(rate)));
  }
  return samples;
}

AudioInput sound(int64_t rate, int64_t length) {
  AudioInput input;
  input.rate = rate;
  input.length = length;
  return input;
}

void put(const ScratchFolder& scratch, const std::string& name, const std::string& bytes) {
  std::filesystem::create_directories((scratch / name.c_str()).parent_path());
  std::ofstream(scratch / name.c_str(), std::ios::binary) << bytes;
}

TEST(ReadSound, SamplesAreThoseOfTheFile) {
  ScratchFolder scratch;
  put(scratch, "a.wav", wav<int16_t>({0, 16384, -32768, 1}));
  EXPECT_EQ(read_sound(scratch / "a.wav", sound(16000, 0)).values,
            (std::vector<float>{0, 0.5F, -1, 1.0F / 32768}));
  EXPECT_EQ(read_sound(scratch / "a.wav", sound(16000, 2)).values, (std::vector<float>{0, 0.5F}));
  EXPECT_EQ(read_sound(scratch / "a.wav", sound(16000, 6)).values,
            (std::vector<float>{0, 0.5F, -1, 1.0F / 32768, 0, 0}));
}

TEST(ReadSound, TellsWhetherItWasCut) {
  ScratchFolder scratch;
  put(scratch, "a.wav", wav(tone(440, 8000, 8000), 8000));
  EXPECT_FALSE(read_sound(scratch / "a.wav", sound(8000, 8000)).cut);
  EXPECT_FALSE(read_sound(scratch / "a.wav", sound(16000, 16000)).cut) << "rounding of the resampler";
  EXPECT_FALSE(read_sound(scratch / "a.wav", sound(8000, 0)).cut);
  EXPECT_TRUE(read_sound(scratch / "a.wav", sound(8000, 7999)).cut);
  EXPECT_TRUE(read_sound(scratch / "a.wav", sound(16000, 8000)).cut);
  EXPECT_FALSE(read_sound(scratch / "a.wav", sound(8000, 4000), /*whole=*/true).cut);
}

TEST(ReadSound, ChannelsAreAveraged) {
  ScratchFolder scratch;
  put(scratch, "a.wav", wav<int16_t>({16384, 0, -16384, 16384}, 16000, 2));
  EXPECT_EQ(read_sound(scratch / "a.wav", sound(16000, 0)).values, (std::vector<float>{0.25F, 0}));
}

TEST(ReadSound, AnotherRateIsTheSameTone) {
  ScratchFolder scratch;
  put(scratch, "a.wav", wav(tone(440, 8000, 8000), 8000));
  const std::vector<float> samples = read_sound(scratch / "a.wav", sound(16000, 16000)).values;
  ASSERT_EQ(samples.size(), 16000U);
  for (size_t i = 1000; i < 15000; ++i) {
    const double expected = 0.5 * std::sin(2 * std::numbers::pi * 440 * static_cast<double>(i) / 16000);
    ASSERT_NEAR(samples[i], expected, 0.005) << i;
  }
  EXPECT_NEAR(static_cast<double>(read_sound(scratch / "a.wav", sound(4000, 0)).values.size()), 4000, 2);
}

// What is cut off has no influence beyond the filter of the resampler.
TEST(ReadSound, ALongFileIsReadOnlyAsFarAsNeeded) {
  ScratchFolder scratch;
  put(scratch, "a.wav", wav(tone(100, 16000, 200'000)));
  EXPECT_EQ(read_sound(scratch / "a.wav", sound(16000, 100)).values.size(), 100U);
}

TEST(ReadSound, DamagedFilesAreErrors) {
  ScratchFolder scratch;
  const auto error = [&](const std::string& bytes) {
    put(scratch, "a.wav", bytes);
    return error_of([&] { read_sound(scratch / "a.wav", sound(16000, 0)); });
  };
  const std::string good = wav(tone(440, 16000, 100));
  EXPECT_PRED2(contains, error(good.substr(0, 100)), "ends after 56 of 200 bytes");
  EXPECT_PRED2(contains, error(good.substr(0, 20)), "a.wav");
  EXPECT_PRED2(contains, error(""), "empty");
  EXPECT_PRED2(contains, error("just text"), "not a sound file");
  EXPECT_PRED2(contains, error(wav<int16_t>({})), "no samples");
  EXPECT_PRED2(contains, error(wav<float>({0, std::numeric_limits<float>::quiet_NaN()})), "not numbers");
  EXPECT_PRED2(contains, error(wav(tone(440, 16000, 100), 1)), "resampled");
  EXPECT_PRED2(contains, error_of([&] { read_sound(scratch / "absent.wav", {}); }), "absent.wav");

  // Whatever one byte of the header is changed to, the result is sound or an Error.
  for (size_t i = 0; i < 44; ++i) {
    for (const unsigned char value : {0x00, 0x01, 0x7f, 0xff}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(value);
      put(scratch, "b.wav", bytes);
      try {
        EXPECT_LT(read_sound(scratch / "b.wav", sound(16000, 0)).values.size(), 100'000U);
      } catch (const Error&) {
      }
    }
  }
}

TEST(ReadAudio, AFolderPerClassInOrder) {
  ScratchFolder scratch;
  for (int i = 0; i < 60; ++i) {
    const char* word = i % 2 ? "yes" : "no";
    put(scratch, std::string("train/") + word + "/" + std::to_string(100 + i) + ".wav",
        wav<int16_t>({static_cast<int16_t>(i * 256)}));
  }
  put(scratch, "test/no/1.wav", wav<int16_t>({-256}));
  Problems problems(false);
  const Records records = collect(read_audio, scratch.path(), {}, sound(16000, 1), problems);
  ASSERT_EQ(records.size(), 61U);
  EXPECT_EQ(records[0].where, "test/no/1.wav");
  EXPECT_EQ(records[0].split, Split::test);
  for (size_t i = 1; i < records.size(); ++i) {
    EXPECT_LT(records[i - 1].where, records[i].where);
    const int number = std::stoi(records[i].where.substr(records[i].where.size() - 7, 3)) - 100;
    EXPECT_EQ(records[i].values[0], static_cast<float>(number) / 128);
    EXPECT_EQ(records[i].label, number % 2 ? "yes" : "no");
    EXPECT_EQ(records[i].split, Split::train);
  }
}

TEST(ReadAudio, SpeechCommandsAsReleased) {
  ScratchFolder scratch;
  const std::string bytes = wav<int16_t>({1});
  for (const char* name : {"yes/a.wav", "yes/b.wav", "no/a.wav", "no/b.wav", "_background_noise_/rain.wav"}) {
    put(scratch, name, bytes);
  }
  put(scratch, "README.md", "");
  put(scratch, "testing_list.txt", "yes/a.wav\n");
  put(scratch, "validation_list.txt", "no/b.wav\r\n");
  Problems problems(false);
  const Records records = collect(read_audio, scratch.path(), {}, sound(16000, 1), problems);
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].split, Split::train);
  EXPECT_EQ(records[1].split, Split::valid);
  EXPECT_EQ(records[2].split, Split::test);
  EXPECT_EQ(records[3].split, Split::train);

  DataOptions options;
  options.classes = {"_background_noise_", "no"};
  EXPECT_EQ(collect(read_audio, scratch.path(), options, sound(16000, 1), problems).size(), 3U);
}

TEST(ReadAudio, LabelsFromNames) {
  ScratchFolder scratch;
  put(scratch, "recordings/7_jackson_3.wav", wav<int16_t>({1}));
  put(scratch, "recordings/7_jackson_30.wav", wav<int16_t>({1}));
  DataOptions options;
  options.label_pattern = "(\\d)_[a-z]+_\\d+";
  options.test_pattern = "_[0-4]\\.wav";
  Problems problems(false);
  const Records records = collect(read_audio, scratch.path(), options, sound(16000, 1), problems);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].label, "7");
  EXPECT_EQ(records[0].split, Split::test);
  EXPECT_EQ(records[1].split, Split::train);
}

TEST(ReadAudio, BrokenFilesAreProblems) {
  ScratchFolder scratch;
  put(scratch, "x/a.wav", "no sound");
  put(scratch, "x/b.wav", wav<int16_t>({1}));
  put(scratch, "x/c.wav", "");
  Problems problems(true);
  EXPECT_EQ(collect(read_audio, scratch.path(), {}, sound(16000, 1), problems).size(), 1U);
  ASSERT_EQ(problems.count(), 2);
  EXPECT_EQ(problems.first()[0].where, "x/a.wav");
  EXPECT_EQ(problems.first()[1].where, "x/c.wav");
  Problems strict(false);
  EXPECT_PRED2(contains, error_of([&] { collect(read_audio, scratch.path(), {}, AudioInput{}, strict); }),
               "x/a.wav");
  std::filesystem::create_directory(scratch / "empty");
  EXPECT_PRED2(contains, error_of([&] { collect(read_audio, scratch / "empty", {}, AudioInput{}, strict); }),
               "no sound file");
}

// For random windows of a clip; its beginning is what is read without.
TEST(ReadSound, WholeClips) {
  ScratchFolder scratch;
  for (const uint32_t rate : {16000U, 44100U, 8000U}) {
    std::ofstream(scratch / "a.wav", std::ios::binary) << wav(tone(440, rate, 3 * rate), rate);
    const std::vector<float> cut = read_sound(scratch / "a.wav", sound(16000, 16000)).values;
    const std::vector<float> whole = read_sound(scratch / "a.wav", sound(16000, 16000), true).values;
    EXPECT_NEAR(static_cast<double>(whole.size()), 48000, 2);
    ASSERT_EQ(cut.size(), 16000U);
    EXPECT_TRUE(std::equal(cut.begin(), cut.end(), whole.begin())) << rate;
    EXPECT_EQ(read_sound(scratch / "a.wav", sound(16000, 64000), true).values.size(), 64000U) << "silence";
  }
}

}  // namespace
}  // namespace mega::data
