// The state of a session as a file (mega/config/files/state_file.h).
//
// Numbers: `blocks`, `cache_bits` (32, or 16 for bf16; absent: 32) and `blocks.I.position`. Tensors, as
// mega/nn/state.h has them for one text: `blocks.I.ema` (1, D, N), `blocks.I.keys` (1, O, Z) and
// `blocks.I.values` (1, O, V) of the O positions of the open chunk, and `features` (D) of the last token.
// Empty tensors are left out.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "mega/config/files/state_file.h"
#include "mega/infer/models/language_model.h"
#include "mega/infer/state.h"

namespace mega::infer {

struct SavedSession {
  State state;
  std::vector<float> features;  // (D) of the last token; empty before the first, or if libtorch wrote it
};

// Writes the file atomically.
void write_session(const std::filesystem::path& path, const LanguageModel& model, const State& state,
                   std::span<const float> features);

// Error if the file is damaged, or of another version or model.
SavedSession read_session(const std::filesystem::path& path, const LanguageModel& model);
SavedSession read_session(const StateFile& file, const LanguageModel& model);

}  // namespace mega::infer
