#include "mega/base/system/signal_stack.h"

#include <csignal>
#include <cstddef>
#include <memory>

namespace mega {
namespace {

constexpr size_t kBytes = size_t{1} << 16;  // a frame with all vector and matrix registers takes 11 KB

class SignalStack {
 public:
  SignalStack() {
    stack_t before = {};
    if (sigaltstack(nullptr, &before) == 0 && (before.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::byte[]>(kBytes);
    stack_t stack = {};
    stack.ss_sp = memory_.get();
    stack.ss_size = kBytes;
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    if (!memory_) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

void use_signal_stack() { static thread_local const SignalStack stack; }

}  // namespace mega
