// A training step of a preset: forward, backward and AdamW on a batch of random examples.
#pragma once

#include <string>

#include "bench/benchmarks.h"
#include "mega/config/models/layer_options.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/form.h"

namespace mega::bench {

struct Shape {
  int64_t batch, length;
  double tokens() const { return static_cast<double>(batch * length); }
};
std::string shape_name(const Shape& shape);

ops::Form parse_form(const std::string& form);

// The blocks of the preset, a Mega classifier or language model, with the chunk of the settings.
BlockOptions preset_block(const Settings& settings);

bool reads_pictures(const std::string& preset);

// Of a classifier, a language model or a model of pictures, whose size is the preset's in place of the
// shape's length. With the preset's dropout.
Candidate step_case(const Settings& settings, const std::string& form, const Shape& shape);

// Of the language model of a recipe.
Candidate language_step(const Recipe& recipe, const std::string& name, const std::string& form,
                        const Shape& shape);

}  // namespace mega::bench
