// An allocator for libtorch's CPU tensors that keeps the large blocks they free.
//
// A training step frees and asks for the same hundreds of megabytes again and again. The C library gives
// blocks of that size back to the system, and faulting their pages in anew costs a quarter of the step's
// time.
#pragma once

namespace mega::ops {

// From now on, for the whole process. For programs, at their start: a library should not decide that.
void use_tensor_cache();

}  // namespace mega::ops
