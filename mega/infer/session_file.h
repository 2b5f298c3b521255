// The state of a session as a file.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "mega/infer/language_model.h"
#include "mega/infer/state.h"

namespace mega::infer {

struct SavedSession {
  State state;
  std::vector<float> features;  // (D) of the last token; empty where nothing was read
};

// Written whole or not at all.
void write_session(const std::filesystem::path& path, const LanguageModel& model, const State& state,
                   std::span<const float> features);

// Error where the file is damaged, of another version or of another model.
SavedSession read_session(const std::filesystem::path& path, const LanguageModel& model);

}  // namespace mega::infer
