// What a stream leaves behind: the moving averages, the keys and values of the open chunk, the position.
//
// A state is a value. Copying it is cheap (tensors are never written in place, so copies may share them), a
// copy goes its own way, and it can be reordered for beams, saved and loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"

namespace mega::nn {

struct GatedAttentionState {
  torch::Tensor ema;      // (B, D, N); undefined at the start, or without an EMA
  torch::Tensor keys;     // (B, O, Z), O positions of the open chunk; undefined when there are none
  torch::Tensor values;   // (B, O, V)
  torch::Tensor padding;  // (B, O) bool; undefined while nothing was padded
  int64_t position = 0;   // positions seen so far
};

struct CrossAttentionState {
  torch::Tensor keys;     // (B, K, Z) of the source, made by the first call
  torch::Tensor values;   // (B, K, D)
  torch::Tensor padding;  // (B, K) bool of the source; undefined if nothing was padded
  int64_t position = 0;
};

struct BlockState {
  GatedAttentionState attention;
  CrossAttentionState cross;
};

// One entry per block of a model.
struct State {
  std::vector<BlockState> blocks;
};

// Row b of the result is row index[b] of the state; index (B') int64.
State reorder(const State& state, const torch::Tensor& index);

// The same values, cut off from the graph that made them: for truncated back-propagation.
State detach(const State& state);

// As tensors of a file that holds other things too, their names beginning with `prefix`.
ops::NamedTensors to_tensors(const State& state, const std::string& prefix);
State from_tensors(const Safetensors& file, const std::string& prefix);

// One file (mega/config/state_file.h), written whole or not at all. With the fingerprint of the model
// (mega/infer/models/fingerprint.h) the engine can go on from it, where it is the state of one text.
void save_state(const std::string& path, const State& state, std::optional<uint64_t> fingerprint = {});
State load_state(const std::string& path);

}  // namespace mega::nn
