#include "mega/ops/form.h"

#include "mega/base/error.h"

namespace mega::ops {
namespace {

thread_local Form current = Form::automatic;

}  // namespace

Form default_form() { return current; }

FormGuard::FormGuard(Form form) : previous_(current) { current = form; }
FormGuard::~FormGuard() { current = previous_; }

bool use_fused(const torch::Tensor& x) {
  const bool possible = x.device().is_cpu() && x.scalar_type() == torch::kFloat32;
  require(possible || current != Form::fused, "the fused form supports only float32 on the CPU, not ",
          x.scalar_type(), " on ", x.device(), "; use the reference form instead");
  return possible && current != Form::reference;
}

}  // namespace mega::ops
