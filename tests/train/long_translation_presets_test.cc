// The translators of the paper, and their Transformer, at full size: two updates of one micro-batch, an
// evaluation, and ten sentences translated by the engine.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "mega/config/recipe/presets.h"
#include "mega/infer/models/translator.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/infer/translation/text_translator.h"
#include "mega/train/run.h"
#include "tests/train/translation_helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests

constexpr double kMostMemory = 20e9;
constexpr size_t kWords = 40'000;  // more than a vocabulary holds

std::vector<std::string> random_lines(const std::string& name, size_t count, size_t words) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) {
    std::string line;
    for (size_t k = 0; k < words; ++k)
      line += (k > 0 ? " w" : "w") + std::to_string(stream_seed(3, name, i * words + k) % kWords);
    lines.push_back(line);
  }
  return lines;
}

void write_random_pairs(const std::filesystem::path& stem, size_t count, size_t words) {
  for (const char* language : {".en", ".de"}) {
    const std::string name = stem.string() + language;
    write_file(name, join(random_lines(name, count, words), "\n") + "\n");
  }
}

// Words in place of the preset's codes: so many codes are not learnt from random text.
Recipe full_recipe(const std::string& preset, const std::filesystem::path& data) {
  Recipe recipe = load_preset(preset);
  for (const char* option :
       {"input.units=words", "input.normalize=false", "input.tokenize=none", "input.detokenize=none",
        "train.accumulation=1", "train.updates=2", "train.warmup=1", "train.learning_rate=5e-7",
        "train.evaluate=0", "train.checkpoint=0"})
    change(recipe, option);
  recipe.data.path = data.string();
  return recipe;
}

class FullTranslationPreset : public ::testing::TestWithParam<std::string> {
 protected:
  FullTranslationPreset() {
    ::setenv("MEGA_CACHE", (folder_ / "cache").c_str(), 1);
    std::filesystem::create_directories(folder_ / "pairs");
    // As long as pairs may be, so that a batch has as many tokens as it can have.
    write_random_pairs(folder_ / "pairs/train", 600, 250);
    write_random_pairs(folder_ / "pairs/valid", 2, 20);
    write_random_pairs(folder_ / "pairs/test", 2, 20);
  }
  ~FullTranslationPreset() override { ::unsetenv("MEGA_CACHE"); }

  RunResult train(const Recipe& recipe) {
    RunRequest request;
    request.recipe = recipe;
    request.folder = folder_ / "run";
    return run(request);
  }

  static void expect_in_memory(const RunResult& result) {
    EXPECT_EQ(result.outcome.state.update, 2);
    ASSERT_FALSE(result.outcome.state.best.metrics.empty());
    EXPECT_LT(result.outcome.state.best.metrics.front().value, 2.0 * std::log(32768.0)) << "the loss";
    struct rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    EXPECT_LT(1024.0 * static_cast<double>(usage.ru_maxrss), kMostMemory);
  }

  ScratchFolder folder_;
};

TEST_P(FullTranslationPreset, TrainsAndTranslatesWithinMemory) {
  const RunResult result = train(full_recipe(GetParam(), folder_ / "pairs"));
  expect_in_memory(result);

  const std::filesystem::path file = folder_ / "run/model.safetensors";
  const auto model = infer::Translator::open(file);
  EXPECT_EQ(model->options().vocabulary, 32768);
  const Signature signature = read_signature(model->file().tensors, file.string());
  infer::TextTranslator translator(
      std::make_shared<infer::TranslatorDecoder>(model, std::make_shared<infer::ThreadPool>(0)),
      make_translation_texts(signature, 32768, 32768), 251, {});
  const auto translated = translator.translate(random_lines("sentence", 10, 20));
  ASSERT_EQ(translated.size(), 10u);
  for (const infer::TranslatedLine& line : translated) {
    ASSERT_EQ(line.translations.size(), 1u);
    EXPECT_TRUE(std::isfinite(line.translations[0].score));
    EXPECT_GT(line.translations[0].tokens, 1);
  }
  expect_in_memory(result);
}

TEST_P(FullTranslationPreset, ItsTransformerTrainsWithinMemory) {
  Recipe recipe = full_recipe(GetParam(), folder_ / "pairs");
  change(recipe, "model.kind=transformer");
  expect_in_memory(train(recipe));
}

INSTANTIATE_TEST_SUITE_P(Presets, FullTranslationPreset,
                         ::testing::Values("wmt16-en-de", "wmt16-en-de-laplace"), [](const auto& preset) {
                           std::string name = preset.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace mega::train
