// What a run will cost, before its first step.
#pragma once

#include <cstdint>

#include "mega/config/presets.h"
#include "mega/data/dataset.h"
#include "mega/ops/torch.h"
#include "mega/train/sequence_task.h"

namespace mega::train {

// Bytes this process may still take: of the machine, and of the container it runs in.
double available_memory();

// Sizes of the largest batch that training will see.
struct LargestBatch {
  int64_t examples = 0, length = 0;
};
LargestBatch largest_batch(const data::Part& part, const data::Encoder& encoder, const Recipe& recipe);

// Bytes at the peak: weights, gradients, both moments, the average, activations of the largest batch.
double training_bytes(const Recipe& recipe, int64_t parameters, const LargestBatch& largest);

// Error if that is more than there is; says which batch, or which length, would fit.
void require_memory(const Recipe& recipe, int64_t parameters, const LargestBatch& largest, double available);

// GFLOP/s of a 1024^3 float32 product here and now: the yardstick of speed.
double sgemm_gflops();

// Seconds an update takes, measured on a few batches with a model of its own.
double measure_update(const Recipe& recipe, const data::Dataset& dataset, const Signature& signature,
                      torch::Device device);

}  // namespace mega::train
