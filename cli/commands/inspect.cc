#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/commands/inspect_report.h"
#include "cli/model_argument.h"
#include "mega/base/files/json.h"
#include "mega/base/options/options_io.h"
#include "mega/base/strings.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/report/terminal.h"

namespace mega::cli {
namespace {

struct InspectCommand {
  std::string name;
  std::vector<std::string> changes;
  int64_t length = 0, batch = 1;
  bool json = false;

  bool is_model() const { return !name.ends_with(".toml") && std::filesystem::exists(name); }
  void run() const;
  void inspect(const Recipe& recipe, const ModelFile* file, int64_t tokens) const;
};

// Cost of a training step.
struct StepCost {
  int64_t tokens, batch, documents;
  double activation_bytes, multiply_adds;

  StepCost(const ModelOptions& options, int64_t length, int64_t sequences)
      : tokens(length),
        batch(sequences),
        documents(options.kind().document_count()),
        activation_bytes(options.kind().activation_bytes(tokens, batch)),
        multiply_adds(options.kind().multiply_adds(tokens)) {}

  void add_to(nlohmann::ordered_json& report) const {
    report["length"] = tokens;
    report["batch"] = batch;
    report["activation_bytes"] = static_cast<int64_t>(activation_bytes);
    report["multiply_adds_per_token"] = multiply_adds;
  }
  void print() const {
    char gflop[32];
    std::snprintf(gflop, sizeof gflop, "%.1f",
                  6.0 * multiply_adds * static_cast<double>(tokens * batch * documents) * 1e-9);
    const std::string line = "one training step at length " + with_thousands(tokens) + ", batch " +
                             with_thousands(batch) + (documents > 1 ? " of pairs" : "") + ": about " +
                             human_bytes(static_cast<uint64_t>(activation_bytes)) + " of activations, " +
                             gflop + " GFLOP";
    std::printf("%s\n", for_terminal(line, stdout, /*indent=*/2).c_str());
  }
};

void InspectCommand::run() const {
  constexpr int64_t kUsualLength = 1024;
  std::optional<ModelFile> file;
  Recipe recipe;
  if (is_model()) {
    file = ModelFile::open(model_path(name));
    recipe.model = file->options;
  } else {
    recipe = load_recipe(name);
  }
  int64_t tokens = recipe.model.kind().max_length();
  for (const std::string& assignment : changes) {
    change(recipe, assignment);
    // A baseline may have no length of its own: it is then compared at the length of the model it replaces.
    if (const int64_t known = recipe.model.kind().max_length(); known > 0) tokens = known;
  }
  if (length > 0) tokens = length;
  if (tokens == 0) tokens = kUsualLength;
  validate(recipe);
  // With changed options, the file no longer describes the model.
  inspect(recipe, file && changes.empty() ? &*file : nullptr, tokens);
}

void InspectCommand::inspect(const Recipe& recipe, const ModelFile* file, int64_t tokens) const {
  const ModelOptions& options = recipe.model;
  const StepCost cost(options, tokens, batch);
  std::optional<ParameterCount> count;
  if (file == nullptr) count = count_parameters(options);
  if (json) {
    nlohmann::ordered_json report;
    if (file != nullptr) {
      report = file_report(name, *file);
    } else {
      report = {{"name", name}, {"options", options_to_json(options)}, {"parameters", nullptr}};
      if (count) {
        report["parameters"] = count->total;
        for (const auto& [part, parameters] : count->parts) report["parts"][part] = parameters;
      }
    }
    cost.add_to(report);
    std::printf("%s\n", json_text(report, 2).c_str());
    return;
  }

  print_options(name, options);
  if (file != nullptr) print_stored_parts(*file);
  if (count) print_parts(*count);
  if (file != nullptr) print_half_lives(file->tensors);
  cost.print();
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto command = std::make_shared<InspectCommand>();
  CLI::App* sub =
      app.add_subcommand("inspect", "show configuration, parameters by part and memory of a preset or model");
  sub->footer("presets: " + join(preset_names(), ", "));
  sub->add_option("model", command->name, "preset, .toml file, model file or run directory")->required();
  sub->add_option(
         "--set", command->changes,
         "set an option, key=value, e.g. model.block.chunk=128 or model.kind=transformer; may be repeated")
      ->type_name("KEY=VALUE");
  sub->add_option("--length", command->length,
                  "sequence length for the memory estimate (default: the model's max length)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--batch", command->batch, "batch size in sequences for the memory estimate")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub->add_flag("--json", command->json, "print JSON");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
