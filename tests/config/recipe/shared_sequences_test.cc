#include "mega/config/recipe/shared_sequences.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/base/helpers.h"

namespace mega {
namespace {

Recipe shared(const std::string& preset) {
  Recipe recipe = load_preset(preset);
  recipe.train.processes.share = SharedWork::sequences;
  return recipe;
}

TEST(SharedSequences, ArePiecesOfWholeChunks) {
  EXPECT_EQ(piece_unit(load_preset("lra-text")), 0);
  EXPECT_EQ(piece_unit(shared("lra-text")), 1);
  EXPECT_EQ(piece_unit(shared("lra-text-chunk")), 128);
  EXPECT_EQ(piece_unit(shared("bytes-small")), 256);
}

TEST(SharedSequences, AreRefusedWhereOneProcessNeedsAll) {
  const auto refused = [](const Recipe& recipe, const char* why) {
    const std::string error = testing::error_of([&] { validate(recipe); });
    EXPECT_PRED2(testing::contains, error, "train.processes.share = sequences: ");
    EXPECT_PRED2(testing::contains, error, why);
    EXPECT_PRED2(testing::contains, error, "; set it to examples");
  };
  for (const char* preset :
       {"lra-retrieval", "translate-small", "picture-small", "lra-text-transformer", "lra-text-s4"})
    refused(shared(preset), "only a Mega language model or classifier");
  Recipe recipe = shared("bytes-small");
  recipe.train.blocks.carry = true;
  refused(recipe, "train.blocks.carry");
  const auto with = [&](const std::function<void(BlockOptions&)>& change) {
    recipe = shared("lra-text-chunk");
    change(std::get<ClassifierOptions>(recipe.model.model).block);
    return recipe;
  };
  refused(with([](BlockOptions& block) { block.norm = NormKind::timestep; }), "timestep norm");
  refused(with([](BlockOptions& block) { block.ema.shift = true; }), "shifted moving average");
  refused(with([](BlockOptions& block) {
            block.ema.kind = EmaKind::complex;
            block.ema.truncation = 0;
          }),
          "complex");
  refused(with([](BlockOptions& block) { block.layer_dropout = 0.1; }), "layer_dropout");
  refused(with([](BlockOptions& block) { block.drop_path = 0.1; }), "drop_path");
  refused(with([](BlockOptions& block) { block.feature_dropout = true; }), "feature_dropout");
}

}  // namespace
}  // namespace mega
