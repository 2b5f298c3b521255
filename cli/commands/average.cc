#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/config/files/average_models.h"
#include "mega/config/files/model_path.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;

struct AverageCommand {
  std::vector<std::string> models;
  int64_t last = 0;
  std::string out;

  void run() const;
};

void AverageCommand::run() const {
  // One run: its checkpoints. Several arguments: the model of each.
  const bool checkpoints = models.size() == 1 && fs::is_directory(models.front());
  require(checkpoints || last == 0, "--last is for the checkpoints of one run directory");
  require(checkpoints || models.size() > 1, models.front(),
          ": one model is its own average: name several, or a run directory to average its checkpoints");
  std::vector<fs::path> files;
  if (checkpoints) {
    files = checkpoint_models(models.front(), last);
  } else {
    for (const std::string& model : models) files.push_back(model_path(model));
  }
  const fs::path to = !out.empty()  ? fs::path(out)
                      : checkpoints ? fs::path(models.front()) / "model-average.safetensors"
                                    : fs::path("model-average.safetensors");
  average_models(files, to);
  std::printf("%s: the mean of %zu models, %s to %s\n", printable(to.native()).c_str(), files.size(),
              printable(files.front().native()).c_str(), printable(files.back().native()).c_str());
}

}  // namespace

void add_average(CLI::App& app) {
  auto command = std::make_shared<AverageCommand>();
  CLI::App* sub = app.add_subcommand(
      "average",
      "write a model whose weights are the mean of several, such as the last checkpoints of a run");
  sub->add_option("models", command->models,
                  "run directory, to average its checkpoints; or model files and run directories")
      ->required();
  sub->add_option("--last", command->last,
                  "number of checkpoints (default: all that the run has; train.keep says how many that is)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--out", command->out,
                  "output file (default: model-average.safetensors, in the run directory if there is one)")
      ->type_name("FILE");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
