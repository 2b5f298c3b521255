// The program `mega`: declares all commands and runs those that need no libtorch. The others, and the models
// that the engine cannot run, are left to `mega-torch`.
#include <initializer_list>
#include <memory>
#include <string>

#include "cli/any_model.h"
#include "cli/commands.h"
#include "cli/commands/bench_command.h"
#include "cli/commands/eval_command.h"
#include "cli/commands/train_command.h"
#include "cli/program.h"
#include "cli/torch_program.h"

namespace mega::cli {
namespace {

class TorchProgramModels : public OtherModels {
 public:
  explicit TorchProgramModels(char** arguments) : arguments_(arguments) {}

  std::unique_ptr<AnyLanguageModel> open_language_model(const std::filesystem::path&, int) const override {
    run_torch_program(arguments_);
  }
  std::unique_ptr<AnyClassifier> open_classifier(const std::filesystem::path&, int) const override {
    run_torch_program(arguments_);
  }
  AnyTranslator open_translator(const std::filesystem::path&, int) const override {
    run_torch_program(arguments_);
  }

 private:
  char** arguments_;
};

void group(CLI::App& app, const char* title, std::initializer_list<const char*> commands) {
  for (const char* command : commands) app.get_subcommand(command)->group(title);
}

int run(int argc, char** argv) {
  CLI::App app{
      "Mega: moving average equipped gated attention. Trains, evaluates and runs Mega models on CPUs."};
  app.name("mega");
  app.set_version_flag(
      "--version", [argv]() -> std::string { run_torch_program(argv); },
      "print versions of mega, libtorch and BLAS, instruction set and threads");
  const auto hand_over = [argv](const auto&) { run_torch_program(argv); };
  const TorchProgramModels others(argv);
  add_presets(app);
  add_data(app);
  add_train(app, hand_over);
  add_launch(app);
  add_compare(app);
  add_eval(app, hand_over);
  add_predict(app, &others);
  add_generate(app, &others);
  add_score(app, &others);
  add_translate(app, &others);
  add_shortlist(app, &others);
  add_inspect(app);
  add_quantize(app);
  add_average(app);
  add_import(app);
  add_export(app);
  add_bleu(app);
  add_bench(app, hand_over);
  add_help(app, /*page_per_command=*/true);
  group(app, "Train a model", {"presets", "data", "train", "launch", "compare", "eval"});
  group(app, "Use a model",
        {"import", "export", "predict", "generate", "score", "translate", "bleu", "inspect"});
  group(app, "Improve a model", {"average", "quantize", "shortlist"});
  group(app, "More", {"bench", "help"});
  app.footer(
      "`mega help COMMAND` explains a command. Exit status: 0 done, 1 failed, 2 wrong command line, 130 "
      "interrupted.");
  return run_program(app, argc, argv);
}

}  // namespace
}  // namespace mega::cli

int main(int argc, char** argv) { return mega::cli::run(argc, argv); }
