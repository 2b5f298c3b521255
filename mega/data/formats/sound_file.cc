#include "mega/data/formats/sound_file.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "mega/base/error.h"
#include "mega/data/formats/sound_resampler.h"

namespace mega::data {
namespace {

// Hours of sound; a sequence of more is a mistake.
constexpr int64_t kMostSamples = int64_t{1} << 28;

// A file in memory, as libsndfile wants to see it.
struct MemoryFile {
  std::string_view bytes;
  sf_count_t position = 0;

  static MemoryFile& self(void* data) { return *static_cast<MemoryFile*>(data); }

  static sf_count_t size(void* data) { return static_cast<sf_count_t>(self(data).bytes.size()); }

  static sf_count_t seek(sf_count_t offset, int whence, void* data) {
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? self(data).position : size(data);
    return self(data).position = std::clamp<sf_count_t>(from + offset, 0, size(data));
  }

  static sf_count_t read(void* into, sf_count_t count, void* data) {
    const sf_count_t given = std::clamp<sf_count_t>(size(data) - self(data).position, 0, count);
    std::memcpy(into, self(data).bytes.data() + self(data).position, static_cast<size_t>(given));
    self(data).position += given;
    return given;
  }

  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }
  static sf_count_t tell(void* data) { return self(data).position; }
};

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// libsndfile reads what there is of a WAV file that was cut off, without a word.
void check_wav_is_whole(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with("RIFF") || bytes.size() < 12) return;
  constexpr uint32_t kUnknown = 0xFFFFFFFF;  // as programs write it that cannot go back to the header
  size_t position = 12;
  while (position + 8 <= bytes.size()) {
    const uint32_t size = little_endian(bytes.substr(position + 4, 4));
    const bool is_data = bytes.substr(position, 4) == "data";
    position += 8;
    require(!is_data || size == kUnknown || size <= bytes.size() - position, name, ": the file ends after ",
            bytes.size() - position, " of ", size, " bytes of sound");
    if (is_data) return;
    position += size_t{size} + size % 2;
  }
}

// The average of the channels.
std::vector<float> read_mono(SNDFILE* file, int channels, int64_t most, const std::string& name) {
  constexpr int64_t kFrames = 4096;
  std::vector<float> samples;
  std::vector<float> block(static_cast<size_t>(kFrames * channels));
  while (static_cast<int64_t>(samples.size()) < most) {
    const sf_count_t frames = sf_readf_float(file, block.data(), kFrames);
    require(sf_error(file) == SF_ERR_NO_ERROR, name, ": damaged after ", samples.size(),
            " samples: ", sf_strerror(file));
    if (frames <= 0) break;
    for (const float* frame = block.data(); frame < block.data() + frames * channels; frame += channels) {
      samples.push_back(std::accumulate(frame, frame + channels, 0.0F) / static_cast<float>(channels));
    }
  }
  return samples;
}

}  // namespace

std::vector<float> decode_sound(std::string_view bytes, const AudioInput& input, const std::string& name,
                                bool whole, bool* cut) {
  require(!bytes.empty(), name, ": the file is empty");
  check_wav_is_whole(bytes, name);
  MemoryFile memory{bytes};
  SF_VIRTUAL_IO io = {MemoryFile::size, MemoryFile::seek, MemoryFile::read, MemoryFile::write,
                      MemoryFile::tell};
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> file(sf_open_virtual(&io, SFM_READ, &info, &memory),
                                                           sf_close);
  require(file != nullptr, name, ": not a sound file that can be read: ", sf_strerror(nullptr));
  require(info.channels > 0 && info.samplerate > 0, name, ": ", info.channels, " channels at ",
          info.samplerate, " samples per second");

  const double ratio = static_cast<double>(input.rate) / info.samplerate;
  check_rates(info.samplerate, input.rate, name);
  // No more than is needed: the filter of the resampler looks ahead a little.
  constexpr int64_t kLookAhead = 8192;
  constexpr size_t kRounding = 16;  // samples that resampling may add to a clip of the right length
  const int64_t most = whole || input.length == 0
                           ? kMostSamples
                           : static_cast<int64_t>(static_cast<double>(input.length) / ratio) + kLookAhead;
  std::vector<float> samples = read_mono(file.get(), info.channels, std::min(most, kMostSamples), name);
  require(!samples.empty(), name, ": there are no samples in it");
  require(std::all_of(samples.begin(), samples.end(), [](float x) { return std::isfinite(x); }), name,
          ": some samples are not numbers");
  if (ratio != 1) samples = resample_sound(samples, info.samplerate, input.rate, name);
  const auto length = static_cast<size_t>(input.length);
  if (cut != nullptr) *cut = length > 0 && !whole && samples.size() > length + (ratio == 1 ? 0 : kRounding);
  if (length > 0 && (!whole || samples.size() < length)) samples.resize(length);
  samples.shrink_to_fit();
  return samples;
}

}  // namespace mega::data
