// Finds the place in a forward pass where numbers stop being finite. Costs nothing unless somebody watches.
#pragma once

#include <string>
#include <string_view>

#include "mega/ops/torch.h"

namespace mega::ops {

// While it lives, the first place of this thread whose values are not finite is remembered.
class Watch {
 public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  const std::string& found() const { return found_; }  // "" : none

 private:
  friend class WatchScope;
  friend void watch(std::string_view place, const torch::Tensor& values);
  std::string scope_, found_;
};

// Modules say what they made: watch("nffn", x).
void watch(std::string_view place, const torch::Tensor& values);

// A part of the model's name, while it lives: WatchScope("layers", 3) makes "layers.3.nffn" of the above.
class WatchScope {
 public:
  WatchScope(std::string_view name, int64_t number);
  ~WatchScope();
  WatchScope(const WatchScope&) = delete;
  WatchScope& operator=(const WatchScope&) = delete;

 private:
  size_t outer_ = 0;
};

}  // namespace mega::ops
