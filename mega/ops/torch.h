// All of libtorch, once: the precompiled header of every layer from `ops` down, and the one place that knows
// how libtorch 1.13 and 2.x differ.
#pragma once

#include <ATen/Parallel.h>
#include <torch/torch.h>
#include <torch/version.h>

// libtorch 2 took `const` off Allocator::allocate, and asks allocators to copy.
#define MEGA_TORCH_2 (TORCH_VERSION_MAJOR >= 2)
#if MEGA_TORCH_2
#define MEGA_ALLOCATE_CONST
#else
#define MEGA_ALLOCATE_CONST const
#endif
