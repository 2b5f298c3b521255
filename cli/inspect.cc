#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model_argument.h"
#include "mega/base/error.h"
#include "mega/base/options_io.h"
#include "mega/base/table.h"
#include "mega/base/text.h"
#include "mega/config/model_file.h"
#include "mega/config/presets.h"
#include "mega/models/decay_spectrum.h"
#include "mega/models/parameter_count.h"
#include "mega/peers/factory.h"
#include "mega/train/saved_model.h"

namespace mega::cli {
namespace {

struct InspectCommand {
  std::string name;
  std::vector<std::string> changes;
  int64_t length = 0, batch = 1;
  bool json = false;

  bool is_model() const { return !name.ends_with(".toml") && std::filesystem::exists(name); }
  Recipe recipe() const;
  void run();
  void print_spectrum() const;
};

Recipe InspectCommand::recipe() const {
  if (!is_model()) return load_recipe(name);
  Recipe recipe;
  recipe.model = ModelFile::open(model_path(name)).options;
  return recipe;
}

// The longest sequence that the model is made for; 0 if it does not say.
int64_t longest(const ModelOptions& options) {
  if (const auto* classifier = std::get_if<ClassifierOptions>(&options.model))
    return classifier->block.max_positions;
  if (const auto* matcher = std::get_if<MatcherOptions>(&options.model)) return matcher->block.max_positions;
  return 0;
}

void InspectCommand::run() {
  constexpr int64_t kUsualLength = 1024;
  Recipe asked = recipe();
  int64_t tokens = longest(asked.model);
  for (const std::string& assignment : changes) {
    change(asked, assignment);
    // A Transformer does not say: it is compared at the length of what it replaces.
    if (const int64_t known = longest(asked.model); known > 0) tokens = known;
  }
  if (length > 0) tokens = length;
  if (tokens == 0) tokens = kUsualLength;
  validate(asked);
  const ModelOptions& model_options = asked.model;
  const bool buildable =
      sequence_options(model_options) != nullptr || token_options(model_options) != nullptr;

  nlohmann::ordered_json report = {{"name", name}};
  report["options"] = options_to_json(model_options);
  report["parameters"] = nullptr;
  models::ParameterCount count;
  double memory = 0.0, multiply_adds = 0.0;
  if (buildable) {
    count = models::count_parameters(*peers::make_any_model(model_options));
    memory = peers::activation_bytes(model_options, tokens, batch);
    multiply_adds = peers::multiply_adds(model_options, tokens);
    report["parameters"] = count.total;
    for (const auto& [part, parameters] : count.parts) report["parts"][part] = parameters;
    report["length"] = tokens;
    report["batch"] = batch;
    report["activation_bytes"] = static_cast<int64_t>(memory);
    report["multiply_adds_per_token"] = multiply_adds;
  }
  if (json) {
    std::printf("%s\n", report.dump(2).c_str());
    return;
  }

  Table configuration({"option", "value", "meaning"});
  for (const auto& row : option_rows(model_options)) configuration.add({row.key, row.value, row.help});
  std::printf("%s\n%s\n", name.c_str(), configuration.plain().c_str());
  if (!buildable) {
    std::printf(
        "This version knows the options of such a model but cannot build it, so it counts no parameters.\n");
    return;
  }
  Table parts({"part", "parameters", "share"});
  for (const auto& [part, parameters] : count.parts) {
    char share[16];
    std::snprintf(share, sizeof(share), "%.1f %%",
                  100.0 * static_cast<double>(parameters) / static_cast<double>(count.total));
    parts.add({part, with_thousands(parameters), share});
  }
  parts.add({"total", with_thousands(count.total), ""});
  std::printf("%s\n", parts.plain().c_str());
  const int64_t documents = peers::documents(model_options);
  std::printf("one training step at length %s, batch %s%s: about %s of activations, %.1f GFLOP\n",
              with_thousands(tokens).c_str(), with_thousands(batch).c_str(), documents > 1 ? " of pairs" : "",
              human_bytes(static_cast<uint64_t>(memory)).c_str(),
              6.0 * multiply_adds * static_cast<double>(tokens * batch * documents) * 1e-9);
  if (is_model() && changes.empty()) print_spectrum();
}

// How far back each layer of a trained model looks, as quantiles of its half lives.
void InspectCommand::print_spectrum() const {
  const ModelFile file = ModelFile::open(model_path(name));
  const auto model = peers::make_any_model(file.options);
  train::load_weights(*model, file.tensors);
  const auto layers = models::decay_spectrum(*model);
  if (layers.empty()) return;
  Table table({"layer", "10 %", "half", "90 %", "longest"});
  for (size_t i = 0; i < layers.size(); ++i) {
    std::vector<double> lives = layers[i];
    std::sort(lives.begin(), lives.end());
    const auto quantile = [&](double share) {
      char text[24];
      std::snprintf(text, sizeof(text), "%.1f",
                    lives[static_cast<size_t>(share * static_cast<double>(lives.size() - 1))]);
      return std::string(text);
    };
    table.add({std::to_string(i), quantile(0.1), quantile(0.5), quantile(0.9), quantile(1.0)});
  }
  std::printf("\nhalf lives of the moving averages, in positions:\n%s", table.plain().c_str());
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto command = std::make_shared<InspectCommand>();
  CLI::App* sub =
      app.add_subcommand("inspect", "configuration, parameters by part and memory of a preset or model");
  sub->footer("presets: " + join(preset_names(), ", "));
  sub->add_option("model", command->name, "a preset, a .toml file, a model file or a run directory")
      ->required();
  sub->add_option(
      "--set", command->changes,
      "change an option first, e.g. model.block.chunk=128 or model.kind=transformer; may be repeated");
  sub->add_option("--length", command->length,
                  "sequence length for the memory estimate (default: what the model is made for)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--batch", command->batch, "sequences at once for the memory estimate")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub->add_flag("--json", command->json, "for programs");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
