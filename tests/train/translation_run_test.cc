// Whole runs of translators.
#include <gtest/gtest.h>

#include "mega/infer/models/translator.h"
#include "mega/train/run.h"
#include "mega/train/saved_model.h"
#include "tests/train/translation_helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests
namespace fs = std::filesystem;

class TranslationRun : public TranslationTest {
 protected:
  RunRequest request(const char* out) const {
    RunRequest request;
    request.recipe = recipe();
    request.folder = folder_ / out;
    request.command = "mega train";
    return request;
  }
};

TEST_F(TranslationRun, FromPairsToAResult) {
  RunRequest asked = request("run");
  asked.recipe.train.updates = 40;
  asked.recipe.train.label_smoothing = 0.1;
  const RunResult result = run(asked);
  const auto json = nlohmann::json::parse(read_file(asked.folder / "result.json"));
  EXPECT_EQ(json.at("updates"), 40);
  EXPECT_TRUE(json.at("valid").contains("bleu"));
  EXPECT_EQ(json.at("test").at("bleu_test_one"), result.test.metrics.front().value);
  EXPECT_TRUE(json.at("test").contains("loss_test_two"));
  const std::string report = read_file(asked.folder / "report.html");
  EXPECT_PRED2(contains, report, "test BLEU test_one");
  EXPECT_PRED2(contains, report, "→") << "samples";
  // The engine takes the file as it is.
  const auto engine = infer::Translator::open(asked.folder / "model.safetensors");
  EXPECT_EQ(engine->options().vocabulary, 24) << "8 words of each language and 4 symbols, in eights";
}

TEST_F(TranslationRun, KeepsToATime) {
  RunRequest asked = request("timed");
  asked.recipe.train.time = "4s";
  const RunResult result = run(asked);
  EXPECT_GT(result.outcome.state.update, 0);
  ASSERT_FALSE(result.test.metrics.empty());
  EXPECT_TRUE(fs::exists(asked.folder / "model.safetensors"));
}

TEST_F(TranslationRun, GoesOnWithTheSamePairsOnly) {
  RunRequest asked = request("run");
  asked.recipe.train.updates = 2;
  run(asked);
  asked.resume = true;
  EXPECT_NO_THROW(run(asked));
  write_pairs(folder_ / "pairs/train", 300);
  EXPECT_PRED2(contains, error_of([&] { run(asked); }), "the examples have changed since the run started");
}

TEST_F(TranslationRun, FineTuningKeepsTheTokens) {
  RunRequest asked = request("first");
  asked.recipe.train.updates = 2;
  run(asked);
  // Other text, of which the words of one language would be other tokens.
  write_pairs(folder_ / "pairs/train", 3);
  RunRequest tuned = request("second");
  tuned.recipe.train.updates = 2;
  tuned.recipe.train.init = (asked.folder / "model.safetensors").string();
  run(tuned);
  EXPECT_EQ(load_translation_model(asked.folder / "model.safetensors").signature.vocabulary,
            load_translation_model(tuned.folder / "model.safetensors").signature.vocabulary);
}

TEST_F(TranslationRun, LanguageModelsStillHaveNoLabelSmoothing) {
  RunRequest asked = request("language");
  std::string text;
  for (int i = 0; i < 500; ++i) text += "line " + std::to_string(i) + "\n";
  write_file(folder_ / "text.txt", text);
  asked.recipe.model.model = LanguageModelOptions();
  asked.recipe.input.input = LanguageInput();
  asked.recipe.data.path = (folder_ / "text.txt").string();
  asked.recipe.train.label_smoothing = 0.1;
  EXPECT_PRED2(contains, error_of([&] { run(asked); }), "label_smoothing");
}

}  // namespace
}  // namespace mega::train
