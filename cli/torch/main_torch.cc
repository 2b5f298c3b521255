// The program `mega-torch`: what `mega` needs libtorch for.
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/program.h"
#include "cli/torch/torch_commands.h"
#include "cli/torch/torch_models.h"
#include "mega/base/strings.h"
#include "mega/base/version.h"
#include "mega/kernels/instruction_set.h"
#include "mega/ops/runtime.h"
#include "mega/ops/tensor_cache.h"

namespace {

std::string describe() {
  return std::string("mega ") + mega::version() + "\nlibtorch         " + mega::ops::torch_version() +
         "\nBLAS             " + mega::ops::blas().name + "\ninstruction set  " +
         mega::kernels::instruction_set() + "\nthreads          " +
         std::to_string(mega::ops::available_cores());
}

// As it can be pasted into a shell.
std::string command_line(int argc, char** argv) {
  std::string line = "mega";
  for (int i = 1; i < argc; ++i) line += " " + mega::shell_word(argv[i]);
  return line;
}

// Matrix products are most of the work of training: warn early if they run on the slow reference BLAS.
void warn_of_slow_blas() {
  if (mega::ops::blas().optimised) return;
  std::fprintf(stderr,
               "warning: libtorch runs on the reference BLAS, up to 30 times slower than an optimised one.\n"
               "         Install one: apt-get install libopenblas0-openmp\n"
               "         (or select it: update-alternatives --config libblas.so.3-$(uname -m)-linux-gnu)\n");
}

}  // namespace

int main(int argc, char** argv) {
  mega::ops::use_tensor_cache();
  CLI::App app{"Runs the commands of `mega` that need libtorch."};
  app.name("mega");
  app.set_version_flag("--version", describe);
  const mega::cli::TorchModels others;
  const std::string typed = command_line(argc, argv);
  mega::cli::add_train(
      app, [&typed](const mega::cli::TrainCommand& command) { mega::cli::run_train(command, typed); });
  mega::cli::add_eval(app, mega::cli::run_eval);
  mega::cli::add_bench(app, mega::cli::run_bench);
  mega::cli::add_compare(app);  // that `mega bench ablation` starts
  mega::cli::add_predict(app, &others);
  mega::cli::add_generate(app, &others);
  mega::cli::add_score(app, &others);
  mega::cli::add_translate(app, &others);
  mega::cli::add_shortlist(app, &others);
  for (const char* command : {"train", "eval", "bench"})
    app.get_subcommand(command)->parse_complete_callback(warn_of_slow_blas);
  return mega::cli::run_program(app, argc, argv);
}
