// What `inspect` says of a model, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "mega/config/model_file.h"
#include "mega/config/parameter_count.h"

namespace mega::cli {

// Of a model file: options, parameters by part, how they are stored, and half lives of moving averages.
nlohmann::ordered_json file_report(const std::string& name, const ModelFile& file);

// The same as tables on standard output.
void print_options(const std::string& name, const ModelOptions& options);
void print_parts(const ParameterCount& count);
void print_stored_parts(const ModelFile& file);
// How far back each layer looks, as quantiles; nothing where there are no moving averages.
void print_half_lives(const Safetensors& file);

}  // namespace mega::cli
