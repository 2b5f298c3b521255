// Repeated augmentation (Hoffer et al. 2020): each epoch sees a part of the examples, each several times,
// changed in different ways.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mega::data {

// An example, and the how many-th time it is seen.
struct Repetition {
  int64_t example = 0, copy = 0;
};

// What worker `worker` of `workers` reads of an epoch, as DeiT's sampler: of the list in which each example
// of the permutation stands `repeats` times in a row, every workers-th, and of these as many as make an epoch
// of permutation.size() in all. That number is rounded down to a multiple of 256, as released, where there
// are as many; the released sampler gives nothing where there are fewer.
std::vector<Repetition> repeated_order(std::span<const int64_t> permutation, int64_t repeats,
                                       int64_t workers = 1, int64_t worker = 0);

}  // namespace mega::data
