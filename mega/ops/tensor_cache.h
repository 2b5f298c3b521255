// An allocator for libtorch's CPU tensors that keeps the memory of freed ones, in huge pages where the system
// has them, as far as it does not exceed the highest use.
//
// A training step frees and reallocates the same hundreds of megabytes over and over. The C library returns
// blocks of that size to the system, and page-faulting them in again takes a quarter of the step's time.
#pragma once

namespace mega::ops {

// Installs the allocator for the whole process. To be called by programs at start-up, not by libraries.
void use_tensor_cache();

}  // namespace mega::ops
