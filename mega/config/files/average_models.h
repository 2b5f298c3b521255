// One model of several: the mean of their weights, as it is taken of a run's last checkpoints (Vaswani et al.
// 2017).
#pragma once

#include <filesystem>
#include <span>
#include <vector>

namespace mega {

// Writes a model file whose weights are the means of those of the others, computed in double precision;
// options, vocabulary and the rest of the metadata are those of the last. Error if there are none, if their
// options, input, vocabulary or tensors differ, if weights are quantised, or if a mean is not finite.
void average_models(std::span<const std::filesystem::path> models, const std::filesystem::path& out);

// The models of a run's newest `count` checkpoints, the oldest first. Error if it has fewer; 0: all it has.
std::vector<std::filesystem::path> checkpoint_models(const std::filesystem::path& run, int64_t count);

}  // namespace mega
