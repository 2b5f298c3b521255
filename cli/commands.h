// The subcommands. Each has a file of its own that declares its options and the callback run after parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace mega::cli {

class OtherModels;  // cli/any_model.h

// In both programs. `others` opens models that the engine cannot run; null: they are an error.
void add_generate(CLI::App& app, const OtherModels* others);
void add_score(CLI::App& app, const OtherModels* others);
void add_predict(CLI::App& app, const OtherModels* others);

// `inspect`: the first for `mega-run` (model files only), the second for `mega` (presets too).
void add_inspect_file(CLI::App& app);
void add_inspect(CLI::App& app);

// In `mega` only. `typed` is the whole command line, for the run report.
void add_train(CLI::App& app, const std::string& typed);
void add_eval(CLI::App& app);
void add_quantize(CLI::App& app);
void add_data(CLI::App& app);
void add_bench(CLI::App& app);
void add_presets(CLI::App& app);

}  // namespace mega::cli
