#include "mega/ops/precision.h"

#include <map>
#include <mutex>
#include <tuple>

#include "mega/kernels/dot.h"
#include "mega/kernels/instruction_set.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"

namespace mega::ops {
namespace {

using torch::Tensor;

thread_local Precision current_precision = Precision::f32;

Tensor round_to_bf16(const Tensor& x) {
  const PhaseMark mark(Phase::gates);
  const Tensor from = x.detach().contiguous();
  Tensor to = torch::empty(from.sizes(), from.options().dtype(torch::kBFloat16));
  const float* read = from.data_ptr<float>();
  uint16_t* write = data_of<uint16_t>(to);
  parallel_rows(from.numel(), 1, [&](int64_t begin, int64_t end) {
    kernels::to_bf16(read + begin, write + begin, end - begin);
  });
  return to;
}

// Rounded tensors, by the memory of what was rounded. Views of a tensor share its version, and its memory
// cannot be reused while a weak reference to it can still be locked.
class RoundedOnce {
 public:
  Tensor of(const Tensor& x) {
    const c10::StorageImpl* storage = x.storage().unsafeGetStorageImpl();
    const Key key{storage, x.storage_offset(), x.numel()};
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end() && !found->second.owner.expired() && found->second.version == x._version())
      return found->second.rounded.view(x.sizes());
    erase_freed();
    const Tensor rounded = round_to_bf16(x);
    entries_.insert_or_assign(key, Entry{x.storage().getWeakStorageImpl(), x._version(), rounded});
    return rounded;
  }

  void drop_freed() {
    const std::lock_guard<std::mutex> lock(mutex_);
    erase_freed();
  }

 private:
  using Key = std::tuple<const c10::StorageImpl*, int64_t, int64_t>;
  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> owner;
    int64_t version;
    Tensor rounded;
  };

  void erase_freed() {
    std::erase_if(entries_, [](const auto& entry) { return entry.second.owner.expired(); });
  }

  std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

RoundedOnce& rounded_once() {
  static auto* const all = new RoundedOnce();  // outlives every tensor
  return *all;
}

}  // namespace

Precision available_precision(Precision asked) {
  return asked != Precision::f32 && kernels::native_bf16() ? Precision::bf16 : Precision::f32;
}

PrecisionGuard::PrecisionGuard(Precision precision) : previous_(current_precision) {
  current_precision = available_precision(precision);
}
PrecisionGuard::~PrecisionGuard() {
  if (use_bf16()) rounded_once().drop_freed();
  current_precision = previous_;
}

bool use_bf16() { return current_precision == Precision::bf16; }

Tensor stored(const Tensor& x, bool narrow) {
  return narrow && !is_narrow(x) ? round_to_bf16(x) : x.contiguous();
}

Tensor stored_once(const Tensor& x, bool narrow) {
  if (!narrow) return x.contiguous();
  if (!x.is_contiguous() || x.is_inference()) return round_to_bf16(x);
  return rounded_once().of(x);
}

}  // namespace mega::ops
