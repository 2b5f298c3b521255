// Estimates memory and time of a run before its first step.
#pragma once

#include <cstdint>
#include <filesystem>

#include "mega/config/recipe/presets.h"
#include "mega/ops/torch.h"
#include "mega/train/run_clock.h"
#include "mega/train/tasks/job.h"

namespace mega::train {

// Available memory in bytes, limited by the machine and the container.
double available_memory();

// Peak memory in bytes: weights, gradients, both moments, the average, activations of the largest batch.
double training_bytes(const Recipe& recipe, int64_t parameters, const LargestBatch& largest);

// Error if that is more than available; the message names a batch size or length that fits.
void require_memory(const Recipe& recipe, int64_t parameters, const LargestBatch& largest, double available);

// Bytes of one checkpoint.
double checkpoint_bytes(const Recipe& recipe, int64_t parameters);

// Error if the folder's disk, or the limit on the size of files (ulimit -f), has no place for the model and a
// checkpoint of so many bytes. `freed`: bytes that are removed first.
void require_disk(const std::filesystem::path& folder, double checkpoint, double freed = 0.0);

// Measured GFLOP/s of a 1024^3 float32 matrix product, the reference for speed.
double sgemm_gflops();

// What an update takes, measured on a few batches without changing weights; restarts the task afterwards.
UpdateCost measure_update(Task& task, const TrainOptions& options, const RunClock& clock,
                          distributed::World* world = nullptr);

}  // namespace mega::train
