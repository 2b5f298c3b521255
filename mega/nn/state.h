// The streaming state: moving averages, keys and values of the open chunk, and the position.
//
// A state is a value. Copies are cheap (tensors are never modified in place, so copies share them) and
// independent; a state can be reordered for beams, saved and loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"

namespace mega::nn {

struct GatedAttentionState {
  torch::Tensor ema;  // (B, D, N); undefined at the start, or without an EMA
  // (B, O, Z) and (B, O, V), O positions of the open chunk; undefined if there are none. Of Transformer-XL,
  // where `ema` holds a layer's last inputs (B, M, D), both are (B, M, H E), of those inputs by the current
  // weights.
  torch::Tensor keys, values;
  torch::Tensor padding;  // (B, O) bool; undefined if nothing is padded
  int64_t position = 0;   // positions seen so far
  torch::Tensor norm;  // (B, 2 G + 1), statistics of a timestep norm; undefined at the start, or without one
};

struct CrossAttentionState {
  torch::Tensor keys;     // (B, K, Z) of the source, computed by the first call
  torch::Tensor values;   // (B, K, D)
  torch::Tensor padding;  // (B, K) bool of the source; undefined if nothing is padded
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

// Row b of the result is row index[b] of the state; index (B') int64. Where each row keeps its source, the
// keys and values of the sources can stay as they are.
State reorder(const State& state, const torch::Tensor& index, bool keep_sources = false);

// The same values, detached from the autograd graph: for truncated back-propagation.
State detach(const State& state);

// Conversion to and from tensors of a file that also holds other data; names begin with `prefix`.
ops::NamedTensors to_tensors(const State& state, const std::string& prefix);
State from_tensors(const Safetensors& file, const std::string& prefix);

// A file of its own (mega/config/files/state_file.h), written atomically. With the model's fingerprint
// (mega/infer/models/fingerprint.h) the engine can resume from it, if it is the state of a single text.
void save_state(const std::string& path, const State& state, std::optional<uint64_t> fingerprint = {});
State load_state(const std::string& path);

}  // namespace mega::nn
