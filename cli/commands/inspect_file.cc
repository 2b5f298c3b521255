#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/commands/inspect_report.h"
#include "cli/model_argument.h"
#include "mega/base/files/json.h"

namespace mega::cli {
namespace {

struct InspectFileCommand {
  std::string name;
  bool json = false;

  void run() const {
    const ModelFile file = ModelFile::open(model_path(name));
    if (json) {
      std::printf("%s\n", json_text(file_report(name, file), 2).c_str());
      return;
    }
    print_options(name, file.options);
    print_stored_parts(file);
    print_half_lives(file.tensors);
  }
};

}  // namespace

void add_inspect_file(CLI::App& app) {
  auto command = std::make_shared<InspectFileCommand>();
  CLI::App* sub =
      app.add_subcommand("inspect", "show a model's configuration, parameters by part and EMA half-lives");
  sub->add_option("model", command->name, "model file or run directory")->required();
  sub->add_flag("--json", command->json, "print JSON");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
