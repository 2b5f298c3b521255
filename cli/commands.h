// The subcommands, each in a file of its own, which declares its options and what runs after parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace mega::cli {

class OtherModels;  // cli/any_model.h

// Of both programs. `others` opens what the engine does not run; null: nobody does.
void add_generate(CLI::App& app, const OtherModels* others);
void add_score(CLI::App& app, const OtherModels* others);
void add_predict(CLI::App& app, const OtherModels* others);

// `inspect`: of `mega-run`, which knows model files, and of `mega`, which knows presets too.
void add_inspect_file(CLI::App& app);
void add_inspect(CLI::App& app);

// Of `mega` alone. `typed` is the whole command line, for reports.
void add_train(CLI::App& app, const std::string& typed);
void add_eval(CLI::App& app);
void add_quantize(CLI::App& app);
void add_data(CLI::App& app);
void add_bench(CLI::App& app);
void add_presets(CLI::App& app);

}  // namespace mega::cli
