// Handles of the C interface that close themselves.
#pragma once

#include <memory>

namespace mega::infer {

template <auto close>
struct Close {
  void operator()(auto* handle) const { close(handle); }
};

template <class T, auto close>
using Handle = std::unique_ptr<T, Close<close>>;

}  // namespace mega::infer
