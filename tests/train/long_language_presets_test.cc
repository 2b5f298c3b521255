// The language models of the paper at their full size: two updates of one batch and a short evaluation.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>

#include "tests/train/language_helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests

constexpr double kMostMemory = 20e9;

// As many words as asked for, named by their numbers.
class NumberedWords : public Tokenizer {
 public:
  explicit NumberedWords(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  void encode_line(std::string_view, std::vector<int32_t>&) const override {}
  std::string vocabulary() const override { return ""; }

 protected:
  std::string symbol_text(int32_t token, bool) const override { return std::to_string(token); }

 private:
  int64_t size_;
};

// Frequent tokens and rare ones, in lines.
std::vector<int32_t> random_text(int64_t tokens, int64_t vocabulary) {
  std::vector<int32_t> text;
  for (uint64_t i = 0; i < static_cast<uint64_t>(tokens); ++i) {
    const uint64_t bits = stream_seed(5, "text", i);
    const auto most = static_cast<uint64_t>(bits % 3 == 0 ? vocabulary : std::min<int64_t>(vocabulary, 1000));
    text.push_back(
        bits % 40 == 7 ? kEnd : static_cast<int32_t>(kFirstSymbol + (bits >> 16) % (most - kFirstSymbol)));
  }
  return text;
}

class FullLanguagePreset : public ::testing::TestWithParam<const char*> {};

TEST_P(FullLanguagePreset, TrainsAndEvaluatesWithinMemory) {
  Recipe recipe = load_preset(GetParam());
  const auto& model = std::get<LanguageModelOptions>(recipe.model.model);
  const ScratchFolder folder;
  data::Corpus corpus;
  corpus.tokenizer = std::make_shared<NumberedWords>(model.vocabulary);
  const auto part = [&](const char* name, int64_t tokens) {
    data::TokenView view =
        data::write_tokens(folder / name, random_text(tokens, model.vocabulary), model.vocabulary);
    view.counts.bytes = view.counts.characters = tokens;
    return view;
  };
  corpus.train = part("train.tokens", 8 * recipe.train.batch);
  corpus.valid = part("valid.tokens", 2 * model.block.chunk);
  recipe.train.accumulation = 1;
  recipe.train.updates = 2;
  recipe.train.warmup = 1;
  recipe.train.learning_rate *= 2.0 / 24000.0;  // what the second update of the published warm-up has
  recipe.train.evaluate = recipe.train.checkpoint = "0";
  LanguageTask task(recipe, corpus, torch::kCPU);
  RunSettings settings;
  settings.folder = folder.path();
  const Outcome outcome = Trainer(task, recipe.train, settings).run();
  EXPECT_EQ(outcome.state.update, 2);
  ASSERT_FALSE(outcome.state.best.metrics.empty());
  const double loss = outcome.state.best.metrics.back().value;
  EXPECT_GT(loss, 0.0);
  EXPECT_LT(loss, 2.0 * std::log(static_cast<double>(model.vocabulary)));
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(1024.0 * static_cast<double>(usage.ru_maxrss), kMostMemory);
}

INSTANTIATE_TEST_SUITE_P(Presets, FullLanguagePreset, ::testing::Values("enwik8", "wikitext103"),
                         [](const auto& preset) { return std::string(preset.param); });

}  // namespace
}  // namespace mega::train
