#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "mega/base/options/options.h"
#include "mega/base/printable.h"
#include "mega/config/export/export_model.h"
#include "mega/config/files/model_path.h"

namespace mega::cli {
namespace {

struct ExportCommand {
  std::string model, to, out;

  void run() const;
};

void ExportCommand::run() const {
  const ModelFile file = ModelFile::open(model_path(model));
  const auto format = parse_enum<ExportFormat>(to);
  const std::filesystem::path path = out.empty() ? export_path(model, format) : std::filesystem::path(out);
  export_model(file, format, path);
  std::printf("%s\n", printable(path.native()).c_str());
}

}  // namespace

void add_export(CLI::App& app) {
  auto command = std::make_shared<ExportCommand>();
  CLI::App* sub = app.add_subcommand("export", "write a model as a file of another program");
  sub->add_option("model", command->model, "model file, or folder of a run")->required();
  sub->add_option(
         "--to", command->to,
         "fairseq: a checkpoint that the released program loads; huggingface: a folder with config.json "
         "and model.safetensors; safetensors: the weights alone, under the released names")
      ->required()
      ->check(CLI::IsMember({"fairseq", "huggingface", "safetensors"}));
  sub->add_option("--out", command->out,
                  "output (default: in this folder, NAME.pt, NAME-huggingface or NAME.weights.safetensors)")
      ->type_name("FILE");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
