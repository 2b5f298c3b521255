// What `mega-torch` does for the commands that need libtorch; cli/commands.h has their declarations.
#pragma once

#include <string>

#include "cli/commands/bench_command.h"
#include "cli/commands/eval_command.h"
#include "cli/commands/train_command.h"

namespace mega::cli {

// `typed` is the whole command line, for the run report.
void run_train(const TrainCommand& command, const std::string& typed);
void run_eval(const EvalCommand& command);
void run_bench(const BenchCommand& command);

}  // namespace mega::cli
