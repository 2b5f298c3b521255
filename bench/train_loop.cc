#include "bench/train_loop.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/example_source.h"
#include "mega/train/adamw.h"
#include "mega/train/batch_tensors.h"
#include "mega/train/tasks/sequence_task.h"
#include "mega/train/trainer.h"

namespace mega::bench {
namespace {

constexpr int64_t kBatches = 12;

double uniform(uint64_t index) {
  return static_cast<double>(stream_seed(1, "lengths", index) >> 11) * 0x1.0p-53;
}

// Log-normal: half of the texts are shorter than 980 bytes, one in twelve is longer than 4,000.
int64_t draw_length(uint64_t index) {
  const double normal =
      std::sqrt(-2.0 * std::log(1.0 - uniform(2 * index))) * std::cos(2.0 * M_PI * uniform(2 * index + 1));
  return static_cast<int64_t>(980.0 * std::exp(normal));
}

data::Dataset make_texts(int64_t count) {
  data::Dataset dataset;
  dataset.classes = {"0", "1"};
  dataset.outputs = 2;
  std::vector<data::Record> records;
  for (int64_t i = 0; i < count; ++i) {
    data::Record record;
    record.bytes.resize(
        static_cast<size_t>(std::clamp<int64_t>(draw_length(static_cast<uint64_t>(i)), 50, 12000)));
    for (size_t k = 0; k < record.bytes.size(); ++k)
      record.bytes[k] = static_cast<char>('a' + stream_seed(2, "text", k) % 26);
    record.where = "text " + std::to_string(i);
    records.push_back(std::move(record));
  }
  dataset.train = data::Part(std::move(records));
  for (int64_t i = 0; i < count; ++i) dataset.train.labels.push_back(i % 2);
  return dataset;
}

// Shared by all runs: the recipe, the data, and the batches of the first updates.
struct Setting {
  Recipe recipe;
  data::Dataset dataset;
  Signature signature;
  std::vector<data::Batch> batches;
  double positions = 0.0, flops = 0.0;
};

std::shared_ptr<Setting> make_setting(const Settings& settings) {
  auto setting = std::make_shared<Setting>();
  Recipe& recipe = setting->recipe;
  recipe = load_recipe(settings.preset);
  auto* classifier = std::get_if<ClassifierOptions>(&recipe.model.model);
  require(classifier != nullptr && classifier->input == InputKind::tokens,
          "bench train needs a preset of a text classifier");
  classifier->block.chunk = settings.chunk;
  // Random letters have no words or pieces to learn.
  if (auto& input = std::get<TextInput>(recipe.input.input); !has_fixed_vocabulary(input.units))
    input = TextInput(TextUnits::bytes, input.max_length);
  recipe.train.precision = parse_enum<Precision>(settings.precisions.front());
  recipe.train.batch = settings.batch;
  recipe.train.accumulation = 1;
  recipe.train.updates = kBatches;
  recipe.train.warmup = 0;
  recipe.train.evaluate = recipe.train.checkpoint = "0";
  setting->dataset = make_texts(settings.batch * 64);
  setting->signature = data::make_signature(recipe, setting->dataset);

  const data::Encoder encoder(setting->signature, cls_token(recipe.model));
  data::BatchStream stream(std::make_unique<data::ExampleSource>(
      setting->dataset.train, encoder, data::BatchOptions{settings.batch, BatchUnit::examples, true, 1},
      static_cast<uint64_t>(recipe.train.seed)));
  for (int64_t i = 0; i < kBatches; ++i) {
    setting->batches.push_back(stream.next());
    const data::Batch& batch = setting->batches.back();
    setting->positions += static_cast<double>(batch.positions);
    setting->flops += 6.0 * static_cast<double>(batch.positions) *
                      recipe.model.kind().multiply_adds(batch.inputs.front().length);
  }
  return setting;
}

void bare_steps(const Setting& setting) {
  auto model = baselines::make_sequence_model(setting.recipe.model);
  model->train();
  train::AdamW optimiser(model->parameters(), setting.recipe.train);
  for (const data::Batch& batch : setting.batches) {
    optimiser.zero_gradients();
    const torch::Tensor said = model->predict(train::to_sequences(batch, torch::kCPU));
    torch::nn::functional::cross_entropy(said, torch::tensor(batch.targets.classes)).backward();
    optimiser.step(1e-4);
  }
}

void whole_loop(const Setting& setting) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("mega-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  train::SequenceTask task(setting.recipe, setting.dataset, setting.signature, torch::kCPU);
  train::RunSettings settings;
  settings.folder = folder;
  train::Trainer(task, setting.recipe.train, settings).run();
  std::filesystem::remove_all(folder);
}

}  // namespace

std::vector<Candidate> train_loop_cases(const Settings& settings) {
  const std::shared_ptr<Setting> setting = make_setting(settings);
  const std::string what = settings.preset + ", chunk " + std::to_string(settings.chunk) + ", batch " +
                           std::to_string(settings.batch) + ", " + std::to_string(kBatches) + " updates";
  std::vector<Candidate> candidates = {{"bare steps, " + what, "fused", [setting] { bare_steps(*setting); }},
                                       {"mega train, " + what, "fused", [setting] { whole_loop(*setting); }}};
  for (Candidate& candidate : candidates) {
    candidate.tokens = setting->positions;
    candidate.flops = setting->flops;
  }
  return candidates;
}

}  // namespace mega::bench
