#include "mega/config/presets.h"

#include <cstdio>

#include "cli/commands.h"
#include "mega/base/table.h"
#include "mega/base/text.h"
#include "mega/models/model.h"
#include "mega/peers/factory.h"

namespace mega::cli {
namespace {

// "" for a model this version cannot build.
std::string parameters_of(const ModelOptions& options) {
  if (sequence_options(options) == nullptr) return "";
  return with_thousands(models::count_parameters(*peers::make_sequence_model(options)).total);
}

void list_presets() {
  Table table({"preset", "parameters", "what it is"});
  for (const std::string& name : preset_names()) {
    const Recipe recipe = load_preset(name);
    table.add({name, parameters_of(recipe.model), recipe.description});
  }
  std::fputs(table.plain().c_str(), stdout);
}

}  // namespace

void add_presets(CLI::App& app) {
  app.add_subcommand("presets", "what there is, with its size")->callback(list_presets);
}

}  // namespace mega::cli
