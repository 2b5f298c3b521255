#include "mega/ops/watch.h"

#include "mega/base/error.h"

namespace mega::ops {
namespace {

thread_local Watch* current = nullptr;

}  // namespace

Watch::Watch() {
  require(current == nullptr, "this thread already has a Watch");
  current = this;
}

Watch::~Watch() { current = nullptr; }

void watch(std::string_view place, const torch::Tensor& values) {
  if (current == nullptr || !current->found_.empty()) return;
  if (!torch::isfinite(values).all().item<bool>()) current->found_ = current->scope_ + std::string(place);
}

WatchScope::WatchScope(std::string_view name, int64_t number) {
  if (current == nullptr) return;
  outer_ = current->scope_.size();
  current->scope_ += std::string(name) + "." + std::to_string(number) + ".";
}

WatchScope::~WatchScope() {
  if (current != nullptr) current->scope_.resize(outer_);
}

}  // namespace mega::ops
