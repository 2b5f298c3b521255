// The subcommands, each in a file of its own, which declares its options and what runs after parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace mega::cli {

// `typed` is the whole command line, for reports.
void add_train(CLI::App& app, const std::string& typed);
void add_eval(CLI::App& app);
void add_predict(CLI::App& app);
void add_generate(CLI::App& app);
void add_score(CLI::App& app);
void add_data(CLI::App& app);
void add_inspect(CLI::App& app);
void add_bench(CLI::App& app);
void add_presets(CLI::App& app);

}  // namespace mega::cli
