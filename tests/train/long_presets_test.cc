// Every preset for whole sequences at its full length and width: two updates and an evaluation.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "mega/baselines/model_builders.h"
#include "mega/config/recipe/presets.h"
#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests

constexpr double kMostMemory = 20e9;

std::vector<std::string> published_presets() {
  std::vector<std::string> names;
  for (const std::string& name : preset_names())
    if (name.starts_with("lra-") || name.starts_with("sc-")) names.push_back(name);
  return names;
}

const EncoderClassifierOptions& encoder_options(const Recipe& recipe) {
  if (const auto* matcher = std::get_if<MatcherOptions>(&recipe.model.model)) return *matcher;
  return std::get<ClassifierOptions>(recipe.model.model);
}

// What the model reads, as its own options tell: as long as its positions reach.
InputOptions full_input(const EncoderClassifierOptions& model) {
  const int64_t length = model.block.max_positions;
  switch (model.input) {
    case InputKind::tokens:
      return {TextInput{model.vocabulary > 256 ? TextUnits::bytes : TextUnits::listops, length}};
    case InputKind::pixels:
      return {ImageInput{1, length}};
    case InputKind::samples:
      return {AudioInput{16000, length}};
    case InputKind::series:
      return {SeriesInput{model.channels, length}};
  }
  fail("no such input");
}

std::string random_bytes(const std::string& name, int64_t count) {
  std::string bytes;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i)
    bytes += static_cast<char>(stream_seed(1, name, i) % 256);
  return bytes;
}

data::Part full_length(const Recipe& recipe, const std::string& name, int64_t count) {
  const EncoderClassifierOptions& model = encoder_options(recipe);
  const int64_t length = model.block.max_positions;
  std::vector<data::Record> records;
  for (int64_t i = 0; i < count; ++i) {
    data::Record record;
    record.where = name + ":" + std::to_string(i + 1);
    if (model.input == InputKind::tokens) {
      const auto* text = std::get_if<TextInput>(&recipe.input.input);
      const int64_t symbols = length - 2;  // <CLS> and </s> are the others
      for (int number = 0; number < 2; ++number) {
        std::string& document = number == 0 ? record.bytes : record.second;
        document = random_bytes(record.where + std::to_string(number), symbols);
        if (text->units == TextUnits::bytes) continue;
        std::string words;
        for (const char c : document) words += std::string(1, static_cast<char>('0' + (c & 7))) + " ";
        document = words;
      }
    } else {
      record.bytes = random_bytes(record.where, length);
      for (const char c : record.bytes) record.values.push_back(static_cast<float>(c) / 128.0F);
    }
    records.push_back(std::move(record));
  }
  data::Part part(std::move(records));
  for (int64_t i = 0; i < count; ++i) part.labels.push_back(i % model.classes);
  return part;
}

class FullPreset : public ::testing::TestWithParam<std::string> {};

TEST_P(FullPreset, TrainsAndEvaluatesWithinMemory) {
  Recipe recipe = load_preset(GetParam());
  const EncoderClassifierOptions& model = encoder_options(recipe);
  recipe.input = full_input(model);
  recipe.train.batch = model.block.max_positions > 4096 ? 1 : 2;
  recipe.train.batch_unit = BatchUnit::examples;
  recipe.train.accumulation = 1;
  recipe.train.updates = 2;
  recipe.train.warmup = 1;
  recipe.train.evaluate = recipe.train.checkpoint = "0";
  data::Dataset dataset;
  dataset.train = full_length(recipe, "train", 4);
  dataset.valid = full_length(recipe, "valid", 16);
  for (int64_t i = 0; i < model.classes; ++i) dataset.classes.push_back(std::to_string(i));
  dataset.outputs = model.classes;
  HookedTask task(recipe, dataset);
  task.draw(1);  // the records are as long as they should be
  const int64_t positions = task.loss(0).positions;
  EXPECT_GE(positions,
            recipe.train.batch * recipe.model.kind().document_count() * (model.block.max_positions - 1));

  const ScratchFolder folder;
  const Outcome outcome = train_task(task, recipe, folder.path());
  EXPECT_EQ(outcome.state.update, 2);
  ASSERT_FALSE(outcome.state.best.metrics.empty());
  EXPECT_TRUE(std::isfinite(outcome.state.best.metrics[1].value)) << "the loss";
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(1024.0 * static_cast<double>(usage.ru_maxrss), kMostMemory);
}

INSTANTIATE_TEST_SUITE_P(Presets, FullPreset, ::testing::ValuesIn(published_presets()),
                         [](const auto& preset) {
                           std::string name = preset.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace mega::train
