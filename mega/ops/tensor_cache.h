// An allocator for libtorch's CPU tensors that caches large freed blocks.
//
// A training step frees and reallocates the same hundreds of megabytes over and over. The C library returns
// blocks of that size to the system, and page-faulting them in again takes a quarter of the step's time.
#pragma once

namespace mega::ops {

// Installs the allocator for the whole process. To be called by programs at start-up, not by libraries.
void use_tensor_cache();

}  // namespace mega::ops
