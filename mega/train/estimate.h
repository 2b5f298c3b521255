// Estimates memory and time of a run before its first step.
#pragma once

#include <cstdint>

#include "mega/config/presets.h"
#include "mega/ops/torch.h"
#include "mega/train/job.h"

namespace mega::train {

// Available memory in bytes, limited by the machine and the container.
double available_memory();

// Peak memory in bytes: weights, gradients, both moments, the average, activations of the largest batch.
double training_bytes(const Recipe& recipe, int64_t parameters, const LargestBatch& largest);

// Error if that is more than available; the message names a batch size or length that fits.
void require_memory(const Recipe& recipe, int64_t parameters, const LargestBatch& largest, double available);

// Measured GFLOP/s of a 1024^3 float32 matrix product, the reference for speed.
double sgemm_gflops();

// Seconds per update, measured on a few batches without changing weights; restarts the task afterwards.
double measure_update(Task& task, const TrainOptions& options);

}  // namespace mega::train
