// What is said about a text beside itself: JSON for programs, speed and warnings for people.
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

// `prompt`: null where it is not to be shown.
nlohmann::ordered_json generation_report(const infer::GenerateResult& result, size_t prompt_tokens,
                                         const std::string* prompt);

// As one line, or with `indent` blanks.
void print_json(const nlohmann::ordered_json& report, int indent = -1);

// On standard error, where a prompt has tokens that the model does not know.
void warn_of_unknown(std::span<const int32_t> prompt);

}  // namespace mega::cli
