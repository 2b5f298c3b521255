#include "mega/config/recipe/language_recipe.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

TEST(LanguageRecipe, NeedsRunningText) {
  EXPECT_NO_THROW(language_input(load_preset("enwik8")));
  EXPECT_PRED2(contains, error_of([] { language_input(load_preset("lra-text")); }), "input.kind = language");
}

TEST(LanguageRecipe, BlocksAreMultiplesOfTheChunk) {
  Recipe recipe = load_preset("enwik8");
  EXPECT_EQ(block_plan(recipe).chunk, recipe.model.kind().reading().chunk);
  change(recipe, "train.blocks.chunk=77");
  EXPECT_EQ(block_plan(recipe).chunk, 77);
  change(recipe, "train.blocks.chunk=0");
  change(recipe, "model.block.chunk=-1");
  EXPECT_PRED2(contains, error_of([&] { block_plan(recipe); }), "train.blocks.chunk");
}

}  // namespace
}  // namespace mega
