#include "mega/train/estimate.h"

#include <gtest/gtest.h>

#include <regex>

#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/train/tasks/sequence_job.h"
#include "tests/counting_allocator.h"
#include "tests/train/language_helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests

const bool kCounts = CountingAllocator::install();

constexpr double kGigabyte = 1024.0 * 1024 * 1024;

data::Dataset long_texts(int64_t count, size_t length) {
  data::Dataset dataset = letters_dataset();
  dataset.train = letters("long", count);
  change_records(dataset.train, [&](data::Record& record) { record.bytes = std::string(length, 'a'); });
  return dataset;
}

// A model whose weights and activations both count.
Recipe middle_recipe() {
  Recipe recipe = letters_recipe();
  ClassifierOptions& model = classifier(recipe);
  model.layers = 2;
  model.block.width = 128;
  model.block.values = 256;
  model.block.shared = 64;
  model.block.hidden = 256;
  model.block.max_positions = 1024;
  recipe.train.updates = 2;
  recipe.train.average = 0.9;
  return recipe;
}

int64_t parameters(const Recipe& recipe) { return count_parameters(recipe.model).total; }

TEST(Estimate, MemoryIsNearWhatARunTakes) {
  ASSERT_TRUE(kCounts);
  const data::Dataset dataset = long_texts(8, 400);
  for (const bool transformer : {false, true}) {
    Recipe recipe = middle_recipe();
    if (transformer) recipe.model = *baseline_of(recipe.model, "transformer");
    const Signature signature = make_signature(recipe, dataset);
    const data::Encoder encoder(signature, cls_token(*sequence_options(recipe.model)));
    const LargestBatch largest = largest_batch(dataset.train, encoder, recipe);
    const double estimate = training_bytes(recipe, parameters(recipe), largest);
    const ScratchFolder folder;
    const double measured = CountingAllocator::growth([&] {
      SequenceTask task(recipe, dataset, signature, torch::kCPU);
      train_task(task, recipe, folder.path());
    });
    EXPECT_NEAR(estimate / measured, 1.0, 0.3)
        << (transformer ? "Transformer" : "Mega") << ": " << estimate << " estimated, " << measured;
  }
}

TEST(Estimate, MemoryOfALanguageModelIsNearWhatARunTakes) {
  const ScratchFolder folder;
  const data::Corpus corpus = alphabet_corpus(folder.path());
  Recipe recipe = alphabet_recipe();
  auto& model = std::get<LanguageModelOptions>(recipe.model.model);
  model.block.width = 128;
  model.block.values = 256;
  model.block.shared = 64;
  model.block.hidden = 256;
  model.block.chunk = 128;
  recipe.train.batch = 1024;
  recipe.train.updates = 2;
  recipe.train.evaluate = recipe.train.checkpoint = "0";
  for (const bool adaptive : {false, true}) {
    if (adaptive) model.cutoffs = {40, 100};
    const int64_t count = count_parameters(recipe.model).total;
    const double estimate = training_bytes(recipe, count, {2, 512});
    const double measured = CountingAllocator::growth([&] {
      LanguageTask task(recipe, corpus, torch::kCPU);
      RunSettings settings;
      settings.folder = folder.path();
      Trainer(task, recipe.train, settings).run();
    });
    EXPECT_NEAR(estimate / measured, 1.0, 0.3) << adaptive << ": " << estimate << " estimated, " << measured;
  }
}

TEST(Estimate, TheLargestBatchByHand) {
  const data::Dataset dataset = long_texts(10, 99);  // and </s>
  Recipe recipe = letters_recipe();
  const data::Encoder encoder(make_signature(recipe, dataset), -1);
  const auto largest = [&] { return largest_batch(dataset.train, encoder, recipe); };
  EXPECT_EQ(largest().length, 100);
  EXPECT_EQ(largest().examples, 4);
  recipe.train.batch = 32;
  EXPECT_EQ(largest().examples, 10) << "no more than there are";
  recipe.train.batch_unit = BatchUnit::tokens;
  recipe.train.batch = 350;
  EXPECT_EQ(largest().examples, 3);
  recipe.train.batch = 10;
  EXPECT_EQ(largest().examples, 1) << "at least one";
}

// The number after `key` in a message.
int64_t number_after(const std::string& text, const std::string& key) {
  std::smatch match;
  require(std::regex_search(text, match, std::regex(key + "([0-9]+)")), "no ", key, " in: ", text);
  return std::stoll(match[1]);
}

TEST(Estimate, TheAdviceFits) {
  Recipe recipe = middle_recipe();
  const int64_t weights = parameters(recipe);
  recipe.train.batch = 64;
  const LargestBatch largest{64, 4000};
  const double needed = training_bytes(recipe, weights, largest);
  EXPECT_NO_THROW(require_memory(recipe, weights, largest, needed));
  EXPECT_NO_THROW(require_memory(recipe, weights, largest, -1.0)) << "not known how much there is";
  const auto advice = [&](double available) {
    return error_of([&] { require_memory(recipe, weights, largest, available); });
  };

  const double half = needed / 2;
  const int64_t batch = number_after(advice(half), "train.batch=");
  EXPECT_LE(training_bytes(recipe, weights, {batch, 4000}), half);
  EXPECT_GT(training_bytes(recipe, weights, {batch + 1, 4000}), half) << "the largest that does";

  recipe.train.batch_unit = BatchUnit::tokens;
  EXPECT_EQ(number_after(advice(half), "train.batch="), batch * 4000);

  const double little = training_bytes(recipe, weights, {1, 1000});
  const std::string text = advice(little);
  EXPECT_PRED2(contains, text, "train.batch=1 with");
  const int64_t length = number_after(text, "sequences of at most ");
  EXPECT_NEAR(static_cast<double>(length), 1000.0, 1.0);
  EXPECT_LE(training_bytes(recipe, weights, {1, length}), little);
  EXPECT_PRED2(contains, advice(1000.0), "a smaller model");
}

TEST(Estimate, MeasuresThisMachine) {
  const double available = available_memory();
  EXPECT_GT(available, 0.01 * kGigabyte);
  EXPECT_LT(available, 1e6 * kGigabyte);
  EXPECT_GT(sgemm_gflops(), 0.01);
  Recipe recipe = letters_recipe();
  const data::Dataset dataset = letters_dataset();
  const Signature signature = make_signature(recipe, dataset);
  const auto measure = [&] {
    SequenceTask task(recipe, dataset, signature, torch::kCPU);
    return measure_update(task, recipe.train, RunClock()).seconds;
  };
  const double one = measure();
  EXPECT_GT(one, 0.0);
  EXPECT_LT(one, 10.0);
}

}  // namespace
}  // namespace mega::train
