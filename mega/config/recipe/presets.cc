#include "mega/config/recipe/presets.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "mega/base/files/file.h"
#include "mega/base/options/options_io.h"
#include "mega/config/recipe/longest_input.h"
#include "mega/config/recipe/shared_sequences.h"

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
  validate(recipe.input);
  validate(recipe.train);
  check_augmentation(recipe.augment, recipe.input);
  piece_unit(recipe);  // an Error where processes cannot share sequences
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const internal::EmbeddedPreset& preset : internal::embedded_presets()) names.emplace_back(preset.name);
  std::sort(names.begin(), names.end());
  return names;
}

Recipe load_preset(std::string_view name) {
  for (const internal::EmbeddedPreset& preset : internal::embedded_presets())
    if (name == preset.name) {
      Recipe recipe = parse_recipe(preset.text, "preset " + std::string(name));
      recipe.preset = preset.name;
      return recipe;
    }
  const std::string guess = nearest(name, preset_names());
  fail("no preset ", in_quotes(name), guess.empty() ? ";" : "; did you mean " + guess + "?",
       " `mega presets` lists them; a file of your own needs a name that ends in .toml");
}

Recipe load_recipe(const std::string& name_or_path) {
  if (std::filesystem::path(name_or_path).extension() == ".toml")
    return parse_recipe(read_file(name_or_path), name_or_path);
  return load_preset(name_or_path);
}

namespace {

// The published model of that kind, where there is a preset of it, for the recipe's task; else one that is as
// large as the recipe's, as the Transformer always is.
std::optional<ModelOptions> baseline_named(const Recipe& recipe, const std::string& kind) {
  const std::string name = recipe.preset + "-" + kind;
  const std::vector<std::string> presets = preset_names();
  if (kind == "transformer" || !std::binary_search(presets.begin(), presets.end(), name))
    return baseline_of(recipe.model, kind);
  ModelOptions published = load_preset(name).model;
  const SequenceOptions* task = sequence_options(recipe.model);
  if (SequenceOptions* own = sequence_options(published); own != nullptr && task != nullptr)
    own->take_task(*task);
  return published;
}

}  // namespace

void make_for_input(Recipe& recipe) {
  if (sequence_options(recipe.model) == nullptr) return;
  const int64_t longest = longest_input(recipe.input);
  recipe.model.kind().make_for(longest > 0 && cls_token(recipe.model) >= 0 ? longest + 1 : longest);
}

void change(Recipe& recipe, const std::string& assignment) {
  const std::string_view text = assignment, key = text.substr(0, text.find('='));
  std::optional<ModelOptions> baseline;
  if (key.size() < text.size() && trim(key) == "model.kind") {
    const std::string kind(trim(text.substr(key.size() + 1)));
    // A "transformer_language" is a "transformer" already: resumed runs are given their options again.
    if (recipe.model.kind_name().starts_with(kind + "_")) return;
    baseline = baseline_named(recipe, kind);
  }
  if (!baseline) return set_option(recipe, assignment);
  recipe.model = std::move(*baseline);
  if (recipe.model.kind().task() != ModelTask::language) return;
  // It trains on what it will see at once when a text is scored, or with the memory of the block before.
  const ReadingPlan reading = recipe.model.kind().reading();
  if (!reading.has_window() && reading.memory == 0) return;
  BlockPlan& blocks = recipe.train.blocks;
  blocks.chunk = reading.has_window() ? reading.window : reading.memory;
  blocks.min_chunks = blocks.max_chunks = 1;
  blocks.carry = reading.memory > 0;
}

}  // namespace mega
