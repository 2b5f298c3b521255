#include "mega/train/tasks/language_task.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mega/ops/runtime.h"
#include "mega/train/saved_model.h"
#include "tests/train/language_helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests

Outcome train_alphabet(const Recipe& recipe, const std::filesystem::path& folder, bool resume = false) {
  const ScratchFolder scratch;
  const data::Corpus corpus = alphabet_corpus(scratch.path());
  LanguageTask task(recipe, corpus, torch::kCPU);
  std::filesystem::create_directories(folder);
  RunSettings settings;
  settings.folder = folder;
  settings.resume = resume;
  return Trainer(task, recipe.train, settings).run();
}

TEST(LanguageTask, LearnsALanguage) {
  const ScratchFolder folder;
  Recipe recipe = alphabet_recipe();
  recipe.train.updates = 150;
  recipe.train.evaluate = "0";
  for (const char* kind : {"language", "transformer"}) {
    Recipe one = recipe;
    if (std::string(kind) == "transformer") change(one, "model.kind=transformer");
    const Outcome outcome = train_alphabet(one, folder / kind);
    ASSERT_FALSE(outcome.state.best.metrics.empty());
    EXPECT_EQ(outcome.state.best.metrics.front().name, "bits per byte");
    // Only where a line ends and how the next begins is not known: about two bits, where 27 letters have 4.8.
    EXPECT_LT(outcome.state.best.metrics.front().value, 2.5) << kind;
  }
}

TEST(LanguageTask, SameSeedSameBitsAndResumesBitForBit) {
  for (const bool carry : {false, true}) {
    const ScratchFolder folder;
    Recipe recipe = alphabet_recipe();
    recipe.train.blocks.carry = carry;
    train_alphabet(recipe, folder / "whole");
    train_alphabet(recipe, folder / "again");
    expect_same_run(folder / "whole", folder / "again");
    Recipe first = recipe;
    first.train.updates = 7;
    first.train.schedule = recipe.train.schedule = Schedule::constant;
    train_alphabet(recipe, folder / "straight");
    train_alphabet(first, folder / "cut");
    train_alphabet(recipe, folder / "cut", /*resume=*/true);
    const Checkpoint a = last_checkpoint(folder / "straight"), b = last_checkpoint(folder / "cut");
    EXPECT_TRUE(contents(a.model) == contents(b.model)) << "carry " << carry;
    EXPECT_TRUE(contents(a.training) == contents(b.training)) << "carry " << carry;
    EXPECT_EQ(a.training.find("carried.blocks.0.ema") != nullptr, carry);
  }
}

// A non-finite loss is traced by computing it again: from the state that the batch began with.
TEST(LanguageTask, ALossCanBeComputedAgain) {
  const ScratchFolder scratch;
  const data::Corpus corpus = alphabet_corpus(scratch.path());
  Recipe recipe = alphabet_recipe();
  recipe.train.blocks.carry = true;
  LanguageTask task(recipe, corpus, torch::kCPU);
  for (int update = 0; update < 2; ++update) {
    task.draw(2);
    std::vector<double> first, second;
    for (const int64_t batch : {0, 1}) first.push_back(task.loss(batch).sum.item<double>());
    for (const int64_t batch : {0, 1}) second.push_back(task.loss(batch).sum.item<double>());
    EXPECT_EQ(first, second) << "update " << update;
  }
}

TEST(LanguageTask, ARestartBeginsAgain) {
  const ScratchFolder scratch;
  const data::Corpus corpus = alphabet_corpus(scratch.path());
  Recipe recipe = alphabet_recipe();
  recipe.train.blocks.carry = true;
  LanguageTask task(recipe, corpus, torch::kCPU);
  const auto losses = [&] {
    std::vector<double> values;
    for (int update = 0; update < 3; ++update) {
      task.draw(1);
      values.push_back(task.loss(0).sum.item<double>());
    }
    return values;
  };
  const std::vector<double> first = losses();
  task.restart();
  EXPECT_TRUE(task.state().empty());
  EXPECT_EQ(losses(), first);
}

// A carried state changes what is learnt, and begins afresh with each epoch.
TEST(LanguageTask, CarriesItsStateThroughAnEpoch) {
  const ScratchFolder scratch;
  const data::Corpus corpus = alphabet_corpus(scratch.path());
  Recipe recipe = alphabet_recipe();
  recipe.train.blocks.carry = true;
  LanguageTask task(recipe, corpus, torch::kCPU);
  int64_t position = 0;
  for (int64_t i = 0; i < task.batches_per_epoch() + 2; ++i) {
    const bool begins = task.cursor().batch == 0;
    task.draw(1);
    const BatchLoss loss = task.loss(0);
    if (begins) position = 0;
    position += loss.positions / 2;  // in two streams: 128 tokens have room for two of 64 at most
    const ops::NamedTensors state = task.state();
    const auto found =
        std::ranges::find(state, "carried.blocks.0.position", &ops::NamedTensors::value_type::first);
    ASSERT_NE(found, state.end());
    EXPECT_EQ(found->second.item<int64_t>(), position) << i;
  }
}

TEST(LanguageTask, AModelFileBringsTokenizerAndWeightsBack) {
  const ScratchFolder folder;
  const data::Corpus corpus = alphabet_corpus(folder.path());
  const Recipe recipe = alphabet_recipe();
  LanguageTask task(recipe, corpus, torch::kCPU);
  task.save(folder / "model.safetensors", weights_of(task.model()));
  const SavedLanguageModel saved = load_language_model(folder / "model.safetensors");
  EXPECT_EQ(saved.tokenizer->size(), 260);
  const torch::Tensor tokens = torch::randint(4, 260, {1, 20}, torch::kInt64);
  task.model().eval();
  saved.model->eval();
  const torch::NoGradGuard guard;
  auto& own = dynamic_cast<models::TokenModel&>(task.model());
  EXPECT_TRUE(own.features(tokens).equal(saved.model->features(tokens)));

  const SavedLanguageModel longer = load_language_model(folder / "model.safetensors", 64);
  EXPECT_EQ(std::get<LanguageModelOptions>(longer.options.model).block.chunk, 64);
  EXPECT_FALSE(
      longer.model->features(torch::randint(4, 260, {1, 64}, torch::kInt64)).isnan().any().item<bool>());
}

TEST(LanguageTask, AnotherChunkNeedsPositionsThatReach) {
  const ScratchFolder folder;
  const data::Corpus corpus = alphabet_corpus(folder.path());
  Recipe recipe = alphabet_recipe();
  std::get<LanguageModelOptions>(recipe.model.model).block.position = PositionKind::simple;
  LanguageTask task(recipe, corpus, torch::kCPU);
  task.save(folder / "model.safetensors", weights_of(task.model()));
  EXPECT_NO_THROW(load_language_model(folder / "model.safetensors", 16));
  EXPECT_PRED2(contains, error_of([&] { load_language_model(folder / "model.safetensors", 64); }), "rotary");
}

TEST(LanguageTask, ScoresAreWhatTheUnitsAsk) {
  infer::ScoreResult result;
  result.bits_per_byte.value = 1.0;
  result.bits_per_character.value = 2.0;
  result.perplexity.value = 3.0;
  EXPECT_EQ(text_scores(result, TextUnits::bytes).metrics.front().value, 1.0);
  EXPECT_EQ(text_scores(result, TextUnits::characters).metrics.front().value, 2.0);
  EXPECT_EQ(text_scores(result, TextUnits::words).metrics.front().value, 3.0);
  EXPECT_FALSE(text_scores(result, TextUnits::words).higher_is_better);
}

}  // namespace
}  // namespace mega::train
