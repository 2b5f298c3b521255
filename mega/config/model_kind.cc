#include "mega/config/model_kind.h"

#include "mega/base/error.h"

namespace mega {
namespace {

[[noreturn]] void fail_unavailable() {
  fail("this version knows the options of such a model but cannot build it");
}

}  // namespace

std::vector<TensorInfo> ModelKind::tensors() const { fail_unavailable(); }
double ModelKind::multiply_adds(int64_t) const { fail_unavailable(); }
double ModelKind::activation_bytes(int64_t, int64_t) const { fail_unavailable(); }
ReadingPlan ModelKind::reading() const { fail("only a language model reads running text"); }
void ModelKind::set_chunk(int64_t) { fail("only a Mega model attends in chunks"); }
bool ModelKind::match(const ModelKind&) { return false; }

}  // namespace mega
