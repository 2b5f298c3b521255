#include "mega/data/formats/sound_resampler.h"

#include <samplerate.h>

#include <cmath>
#include <utility>

#include "mega/base/error.h"

namespace mega::data {
namespace {

constexpr int kQuality = SRC_SINC_MEDIUM_QUALITY;

double ratio_of(int64_t from, int64_t to) { return static_cast<double>(to) / static_cast<double>(from); }

void check(int error, const std::string& name) {
  require(error == 0, name, ": cannot be resampled: ", src_strerror(error));
}

}  // namespace

void check_rates(int64_t from, int64_t to, const std::string& name) {
  require(from == to || (from > 0 && src_is_valid_ratio(ratio_of(from, to)) != 0), name, ": ", from,
          " samples per second cannot be resampled to ", to);
}

std::vector<float> resample_sound(std::span<const float> samples, int64_t from, int64_t to,
                                  const std::string& name) {
  const double ratio = ratio_of(from, to);
  std::vector<float> out(static_cast<size_t>(std::ceil(static_cast<double>(samples.size()) * ratio)) + 1);
  SRC_DATA data{};
  data.data_in = samples.data();
  data.input_frames = static_cast<long>(samples.size());
  data.data_out = out.data();
  data.output_frames = static_cast<long>(out.size());
  data.src_ratio = ratio;
  check(src_simple(&data, kQuality, 1), name);
  out.resize(static_cast<size_t>(data.output_frames_gen));
  return out;
}

SoundResampler::SoundResampler(int64_t from, int64_t to, std::string name)
    : ratio_(ratio_of(from, to)), name_(std::move(name)) {
  check_rates(from, to, name_);
  int error = 0;
  state_.reset(src_new(kQuality, 1, &error));
  check(error, name_);
}

void SoundResampler::Delete::operator()(SRC_STATE* state) const { src_delete(state); }

std::vector<float> SoundResampler::process(std::span<const float> samples, bool end) {
  std::vector<float> result;
  std::vector<float> block(4096);
  const float nothing = 0.0F;  // libsamplerate wants an address even where there is nothing to read
  SRC_DATA data{};
  data.data_in = samples.empty() ? &nothing : samples.data();
  data.input_frames = static_cast<long>(samples.size());
  data.src_ratio = ratio_;
  data.end_of_input = end ? 1 : 0;
  while (true) {
    data.data_out = block.data();
    data.output_frames = static_cast<long>(block.size());
    check(src_process(state_.get(), &data), name_);
    result.insert(result.end(), block.begin(), block.begin() + data.output_frames_gen);
    data.data_in += data.input_frames_used;
    data.input_frames -= data.input_frames_used;
    if (data.input_frames_used == 0 && data.output_frames_gen == 0) return result;
  }
}

}  // namespace mega::data
