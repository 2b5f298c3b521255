// Output that accompanies generated text: JSON, speed and warnings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "mega/infer/generation/generate.h"

namespace mega::cli {

// "37.5 tokens/s".
std::string token_rate(size_t tokens, double seconds);

// `prompt`: null to leave it out.
nlohmann::ordered_json generation_report(const infer::GenerateResult& result, size_t prompt_tokens,
                                         const std::string* prompt);

// On one line, or indented by `indent` spaces.
void print_json(const nlohmann::ordered_json& report, int indent = -1);

// Warns on standard error if the prompt has tokens that are not in the model's vocabulary.
void warn_of_unknown(std::span<const int32_t> prompt);

}  // namespace mega::cli
