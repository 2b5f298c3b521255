// What a run will cost, before its first step.
#pragma once

#include <cstdint>

#include "mega/config/presets.h"
#include "mega/ops/torch.h"
#include "mega/train/job.h"

namespace mega::train {

// Bytes this process may still take: of the machine, and of the container it runs in.
double available_memory();

// Bytes at the peak: weights, gradients, both moments, the average, activations of the largest batch.
double training_bytes(const Recipe& recipe, int64_t parameters, const LargestBatch& largest);

// Error if that is more than there is; says which batch, or which length, would fit.
void require_memory(const Recipe& recipe, int64_t parameters, const LargestBatch& largest, double available);

// GFLOP/s of a 1024^3 float32 product here and now: the yardstick of speed.
double sgemm_gflops();

// Seconds an update takes, measured on a few batches without changing a weight; the task begins again
// afterwards.
double measure_update(Task& task, const TrainOptions& options);

}  // namespace mega::train
