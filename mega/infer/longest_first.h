// Many jobs of different sizes, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "mega/infer/thread_pool.h"

namespace mega::infer {

// Calls job(index, slot) for each index of `sizes`. Each thread takes jobs of its own, the largest first, so
// that threads wait for each other at the end and not in every layer: during such a job, the pool is busy,
// and what the job does runs on its thread. What is left over when all threads have had as many is done by
// all of them together, one after the other. `slot` is the thread's number, below pool.threads(). If some
// jobs fail, the others are done all the same, and then it throws what the first of them threw.
void longest_first(ThreadPool& pool, std::span<const int64_t> sizes,
                   const std::function<void(size_t index, size_t slot)>& job);

}  // namespace mega::infer
