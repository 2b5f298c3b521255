#include "mega/config/recipe/language_recipe.h"

#include "mega/base/error.h"

namespace mega {

const LanguageInput& language_input(const Recipe& recipe) {
  const auto* input = std::get_if<LanguageInput>(&recipe.input.input);
  require(input != nullptr, "a language model reads running text: set input.kind = language");
  return *input;
}

BlockPlan block_plan(const Recipe& recipe) {
  BlockPlan plan = recipe.train.blocks;
  if (plan.chunk > 0) return plan;
  const ReadingPlan reading = recipe.model.kind().reading();
  plan.chunk = reading.has_window() ? reading.window : reading.chunk;
  require(plan.chunk > 0,
          "train.blocks.chunk: with full attention (model.block.chunk = -1), set the chunk size of the "
          "blocks here");
  return plan;
}

}  // namespace mega
