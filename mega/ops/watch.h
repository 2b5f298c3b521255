// Finds where in a forward pass values become non-finite. Costs nothing unless a Watch exists.
#pragma once

#include <string>
#include <string_view>

#include "mega/ops/torch.h"

namespace mega::ops {

// During its lifetime, records the first place on this thread whose values are not finite.
class Watch {
 public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  const std::string& found() const { return found_; }  // empty: all values were finite

 private:
  friend class WatchScope;
  friend void watch(std::string_view place, const torch::Tensor& values);
  std::string scope_, found_;
};

// Called by modules on their results: watch("nffn", x).
void watch(std::string_view place, const torch::Tensor& values);

// Prefixes places with a part of the model's name: within WatchScope("layers", 3), the above is
// "layers.3.nffn".
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
