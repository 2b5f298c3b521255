// Random changes to one example before a model learns from it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mega/config/recipe/augment_options.h"

namespace mega::data {

// What changes, and how, is a function of options and seed alone. Each kind of change draws from a stream of
// its own: turning one on does not move the others.
class Augmenter {
 public:
  Augmenter() = default;  // changes nothing
  Augmenter(const AugmentOptions& options, uint64_t seed) : options_(options), seed_(seed) {}

  const AugmentOptions& options() const { return options_; }
  uint64_t seed() const { return seed_; }

  bool crops() const { return options_.crop; }
  bool changes_texts() const { return options_.crop || options_.byte_dropout > 0; }

  // The text without some of its bytes.
  std::string drop_bytes(std::string_view text) const;

  // Where the `most` positions begin that are read of `length`: at 0 unless it crops.
  int64_t crop_begin(int64_t length, int64_t most) const;

  // A window of so many of the tokens (0: all of them), the last of which stays what it is.
  void crop(std::vector<int32_t>& tokens, int64_t most) const;

  // Shifts numbers in time and adds noise. silence(i): what fills the place i.
  void change(std::vector<float>& values, int64_t channels,
              const std::function<float(size_t)>& silence) const;

 private:
  void shift(std::vector<float>& values, int64_t channels, const std::function<float(size_t)>& silence) const;

  AugmentOptions options_;
  uint64_t seed_ = 0;
};

}  // namespace mega::data
