// Output of `inspect`, as tables and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "mega/config/files/model_file.h"
#include "mega/config/parameter_count.h"

namespace mega::cli {

// A model file's options, parameters by part, storage types, and half-lives of its EMAs. Error where it does
// not match its checksum, however large it is.
nlohmann::ordered_json file_report(const std::string& name, const ModelFile& file);

// The same as tables on standard output.
void print_options(const std::string& name, const ModelOptions& options);
void print_parts(const ParameterCount& count);
void print_stored_parts(const ModelFile& file);
// Quantiles of the EMA half-lives of each layer; prints nothing if the model has no EMA.
void print_half_lives(const Safetensors& file);

}  // namespace mega::cli
