// All of libtorch, once: the precompiled header of every room from `ops` down, and the one place that knows
// how libtorch 1.13 and 2.x differ.
#pragma once

#include <ATen/Parallel.h>
#include <torch/torch.h>
#include <torch/version.h>
