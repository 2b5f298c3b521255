// Recipes: a model, what it reads and how it is trained, as one TOML file. The presets are recipes that
// travel inside the program, one per row of the paper's tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/model_options.h"
#include "mega/config/recipe/augment_options.h"
#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/config/recipe/train_options.h"

namespace mega {

struct Recipe {
  std::string preset;  // its name, if it is one; not part of a file
  std::string description;
  ModelOptions model;
  InputOptions input;
  DataOptions data;
  AugmentOptions augment;
  TrainOptions train;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("description", self.description, "one line that says what this is");
    v.nested("model", self.model, "the model");
    v.nested("input", self.input, "what it reads");
    v.nested("data", self.data, "the examples");
    v.nested("augment", self.augment, "random changes to the examples in training");
    v.nested("train", self.train, "how it is trained");
  }
};

void validate(const Recipe& recipe);

// In alphabetical order.
std::vector<std::string> preset_names();

Recipe load_preset(std::string_view name);

// A preset by its name, or a file by its path, which ends in .toml.
Recipe load_recipe(const std::string& name_or_path);

// set_option (mega/base/options/options.h), except that model.kind=transformer, or another baseline, keeps
// the task: it makes the model to compare this one with, not one of default options: one of equal size
// (baseline_of), or of a preset NAME, unless KIND is transformer, that of the preset NAME-KIND, if there is.
void change(Recipe& recipe, const std::string& assignment);

// Makes a model of sequences for the longest input of the recipe, with the token before it if there is one. A
// baseline of published size, or a model in chunks that no longer has them, may be for shorter ones.
void make_for_input(Recipe& recipe);

namespace internal {

struct EmbeddedPreset {
  const char* name;
  const char* text;
};

// Generated from presets/*.toml when the library is built.
const std::vector<EmbeddedPreset>& embedded_presets();

}  // namespace internal
}  // namespace mega
