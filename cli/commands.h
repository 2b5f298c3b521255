// The subcommands of the programs. Each has a file of its own that declares its options, for help, completion
// and manual pages too, and the callback run after parsing.
//
// `mega` starts without libtorch. Commands that need it are declared in NAME_command.cc and run in NAME.cc:
// `mega` checks the command line and hands over to `mega-torch` (cli/torch_program.h), which is made from the
// same declarations and runs them (cli/torch/torch_commands.h).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace mega::cli {

class OtherModels;    // cli/any_model.h
struct BenchCommand;  // cli/commands/bench_command.h
struct EvalCommand;   // cli/commands/eval_command.h
struct TrainCommand;  // cli/commands/train_command.h

// Runs a command whose options are filled in.
template <class Command>
using Runner = std::function<void(const Command&)>;

// In all programs. `others` opens models that the engine cannot run; null: they are an error.
void add_generate(CLI::App& app, const OtherModels* others);
void add_score(CLI::App& app, const OtherModels* others);
void add_predict(CLI::App& app, const OtherModels* others);
void add_translate(CLI::App& app, const OtherModels* others);
void add_shortlist(CLI::App& app, const OtherModels* others);  // not in `mega-run`
void add_bleu(CLI::App& app);

// `inspect`: the first for `mega-run` (model files only), the second for `mega` (presets too).
void add_inspect_file(CLI::App& app);
void add_inspect(CLI::App& app);

// `help`, and hidden commands that write completion scripts and manual pages; to be added last.
// `page_per_command`: commands have manual pages of their own.
void add_help(CLI::App& app, bool page_per_command);

// In `mega` only.
void add_quantize(CLI::App& app);
void add_average(CLI::App& app);
void add_import(CLI::App& app);
void add_export(CLI::App& app);
void add_data(CLI::App& app);
void add_presets(CLI::App& app);
void add_launch(CLI::App& app);
void add_compare(CLI::App& app);

// In `mega` and `mega-torch`: these need libtorch.
void add_train(CLI::App& app, Runner<TrainCommand> run);
void add_eval(CLI::App& app, Runner<EvalCommand> run);
void add_bench(CLI::App& app, Runner<BenchCommand> run);

}  // namespace mega::cli
