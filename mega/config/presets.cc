#include "mega/config/presets.h"

#include <algorithm>
#include <filesystem>

#include "mega/base/file.h"
#include "mega/base/options_io.h"

namespace mega {
namespace {

Recipe parse_recipe(std::string_view text, const std::string& where) {
  Recipe recipe;
  options_from_toml(recipe, text, where);
  try {
    validate(recipe);
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
  return recipe;
}

}  // namespace

void validate(const Recipe& recipe) {
  validate(recipe.model);
  validate(recipe.train);
  check_augmentation(recipe.augment, recipe.input);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const internal::EmbeddedPreset& preset : internal::embedded_presets()) names.emplace_back(preset.name);
  std::sort(names.begin(), names.end());
  return names;
}

Recipe load_preset(std::string_view name) {
  for (const internal::EmbeddedPreset& preset : internal::embedded_presets())
    if (name == preset.name) return parse_recipe(preset.text, "preset " + std::string(name));
  const std::string guess = nearest(name, preset_names());
  fail("no preset ", in_quotes(name), guess.empty() ? "" : "; did you mean " + guess + "?",
       " `mega presets` lists them; a file of your own needs a name that ends in .toml");
}

Recipe load_recipe(const std::string& name_or_path) {
  if (std::filesystem::path(name_or_path).extension() == ".toml")
    return parse_recipe(read_file(name_or_path), name_or_path);
  return load_preset(name_or_path);
}

void change(Recipe& recipe, const std::string& assignment) {
  Recipe changed = recipe;
  set_option(changed, assignment);
  if (std::holds_alternative<TransformerOptions>(changed.model.model)) {
    if (const auto* language = std::get_if<LanguageModelOptions>(&recipe.model.model)) {
      const TransformerLanguageOptions peer = transformer_like(*language);
      changed.model.model = peer;
      // It trains on what it will see at once when a text is scored.
      changed.train.blocks.chunk = peer.window;
      changed.train.blocks.least = changed.train.blocks.most = 1;
      changed.train.blocks.carry = false;
    } else if (!std::holds_alternative<TransformerOptions>(recipe.model.model)) {
      changed.model.model = transformer_like(recipe.model);
    }
  }
  recipe = std::move(changed);
}

}  // namespace mega
