// The program `mega-run`: runs trained models without libtorch.
#include <string>

#include "cli/commands.h"
#include "cli/program.h"
#include "mega/base/version.h"
#include "mega/infer/thread_pool.h"
#include "mega/kernels/instruction_set.h"

namespace {

std::string describe() {
  return std::string("mega-run ") + mega::version() + "\ninstruction set  " +
         mega::kernels::instruction_set() + "\nthreads          " +
         std::to_string(mega::infer::ThreadPool().threads());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs models trained by `mega`: generates, scores and translates text, classifies, without libtorch."};
  app.name("mega-run");
  app.set_version_flag("--version", describe, "print version, instruction set and threads");
  constexpr const mega::cli::OtherModels* kNone = nullptr;
  mega::cli::add_generate(app, kNone);
  mega::cli::add_score(app, kNone);
  mega::cli::add_translate(app, kNone);
  mega::cli::add_predict(app, kNone);
  mega::cli::add_inspect_file(app);
  mega::cli::add_bleu(app);
  mega::cli::add_help(app, /*page_per_command=*/false);
  app.footer(
      "`mega-run help COMMAND` explains a command. Exit status: 0 done, 1 failed, 2 wrong command line, 130 "
      "interrupted.");
  return mega::cli::run_program(app, argc, argv);
}
