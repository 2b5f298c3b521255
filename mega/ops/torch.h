// The precompiled header of every layer from `ops` on, and the one place that handles the differences between
// libtorch 1.13 and 2.x.
#pragma once

#include <ATen/Parallel.h>
#include <torch/torch.h>
#include <torch/version.h>

// libtorch 2 removed `const` from Allocator::allocate and requires allocators to implement copying.
#define MEGA_TORCH_2 (TORCH_VERSION_MAJOR >= 2)
#if MEGA_TORCH_2
#define MEGA_ALLOCATE_CONST
#else
#define MEGA_ALLOCATE_CONST const
#endif
