// Sound at another rate: a whole clip, or a stream as it comes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct SRC_STATE_tag;

namespace mega::data {

// Error if the rates are further apart than the filter allows. `name` is for messages.
void check_rates(int64_t from, int64_t to, const std::string& name);

std::vector<float> resample_sound(std::span<const float> samples, int64_t from, int64_t to,
                                  const std::string& name);

// The same for samples that arrive in pieces: the pieces together are resample_sound of the whole. The filter
// looks ahead, so what a piece gives is some samples late.
class SoundResampler {
 public:
  SoundResampler(int64_t from, int64_t to, std::string name);

  std::vector<float> feed(std::span<const float> samples) { return process(samples, false); }
  // What is left at the end. Nothing may be fed after it.
  std::vector<float> finish() { return process({}, true); }

 private:
  struct Delete {
    void operator()(SRC_STATE_tag* state) const;
  };

  std::vector<float> process(std::span<const float> samples, bool end);

  double ratio_;
  std::string name_;
  std::unique_ptr<SRC_STATE_tag, Delete> state_;
};

}  // namespace mega::data
