// Tiny tasks that models learn in seconds, with hooks to disturb a run, and a look at what a run leaves on
// disk.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mega/base/files/file.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/train/checkpoint.h"
#include "mega/train/tasks/sequence_task.h"
#include "mega/train/trainer.h"
#include "tests/base/helpers.h"

namespace mega::testing {

inline data::Part labelled(std::vector<data::Record> records, std::vector<int64_t> labels) {
  data::Part part(std::move(records));
  part.labels = std::move(labels);
  return part;
}

inline data::Dataset dataset_of(data::Part train, data::Part valid, std::vector<std::string> classes) {
  data::Dataset dataset;
  dataset.train = std::move(train);
  dataset.valid = std::move(valid);
  dataset.outputs = std::ssize(classes);
  dataset.classes = std::move(classes);
  return dataset;
}

// Texts of the letters a and b; the class is the letter of which there are more.
inline data::Part letters(const std::string& name, int64_t count) {
  std::vector<data::Record> records;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = stream_seed(7, name, static_cast<uint64_t>(i));
    const size_t length = 7 + 2 * (bits % 5);  // odd: never as many of each
    data::Record record;
    size_t count_of_b = 0;
    for (size_t k = 0; k < length; ++k) {
      bits = mix_bits(bits + k);
      record.bytes += bits % 2 == 0 ? 'a' : 'b';
      count_of_b += bits % 2;
    }
    const int64_t label = 2 * count_of_b > length ? 1 : 0;
    record.label = label == 1 ? "b" : "a";
    record.where = name + ":" + std::to_string(i + 1);
    records.push_back(std::move(record));
    labels.push_back(label);
  }
  return labelled(std::move(records), std::move(labels));
}

// The part with changed contents.
inline void change_records(data::Part& part, const std::function<void(data::Record&)>& change) {
  std::vector<data::Record> records;
  for (int64_t i = 0; i < part.size(); ++i) change(records.emplace_back(part.get(i)));
  data::Part changed(std::move(records));
  changed.labels = part.labels;
  changed.targets = part.targets;
  part = std::move(changed);
}

inline data::Dataset letters_dataset() {
  return dataset_of(letters("train", 40), letters("valid", 30), {"a", "b"});
}

// Grey pictures of 8 by 12 pixels; the class is the half that is brighter, left or right.
inline data::Part halves(const std::string& name, int64_t count) {
  std::vector<data::Record> records;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = stream_seed(7, name, static_cast<uint64_t>(i));
    const int64_t label = static_cast<int64_t>(bits % 2);
    data::Record record;
    for (int64_t pixel = 0; pixel < 96; ++pixel) {
      bits = mix_bits(bits + 1);
      const bool right = pixel % 12 >= 6;
      record.bytes += static_cast<char>(bits % 100 + (right == (label == 1) ? 100 : 0));
    }
    record.label = label == 1 ? "right" : "left";
    record.where = name + ":" + std::to_string(i + 1);
    records.push_back(std::move(record));
    labels.push_back(label);
  }
  return labelled(std::move(records), std::move(labels));
}

inline data::Dataset halves_dataset() {
  return dataset_of(halves("train", 80), halves("valid", 40), {"left", "right"});
}

inline Recipe halves_recipe() {
  Recipe recipe;
  ImageClassifierOptions model;
  model.patch = 4;
  model.layers = 2;
  model.block.width = 8;
  model.block.values = 16;
  model.block.shared = 8;
  model.block.hidden = 16;
  model.block.ema.dimension = 2;
  model.block.drop_path = 0.1;
  recipe.model.model = model;
  ImageInput input;
  input.height = 8;
  input.width = 12;
  recipe.input.input = input;
  recipe.train.learning_rate = 0.02;
  recipe.train.batch = 8;
  recipe.train.updates = 40;
  recipe.train.evaluate = "20u";
  recipe.train.checkpoint = "10u";
  return recipe;
}

// Sets what makes a Mega classifier or matcher tiny.
inline void make_tiny(EncoderClassifierOptions& options) {
  options.layers = 1;
  options.head = 8;
  options.block.width = 8;
  options.block.values = 16;
  options.block.shared = 8;
  options.block.hidden = 16;
  options.block.max_positions = 64;
  options.block.ema.dimension = 2;
}

// Ten batches an epoch.
inline Recipe letters_recipe() {
  Recipe recipe;
  ClassifierOptions model;
  make_tiny(model);
  recipe.model.model = model;
  recipe.train.learning_rate = 0.02;
  recipe.train.batch = 4;
  recipe.train.updates = 12;
  recipe.train.evaluate = "4u";
  recipe.train.checkpoint = "3u";
  return recipe;
}

inline ClassifierOptions& classifier(Recipe& recipe) {
  return std::get<ClassifierOptions>(recipe.model.model);
}

// A task that can be disturbed.
class HookedTask : public train::SequenceTask {
 public:
  HookedTask(const Recipe& recipe, const data::Dataset& dataset)
      : SequenceTask(recipe, dataset, data::make_signature(recipe, dataset), torch::kCPU) {}

  std::function<void(int64_t update)> before_update;  // counts from 1, in this process
  std::function<train::BatchLoss(int64_t batch, train::BatchLoss loss)> change_loss;
  std::vector<double> script;  // accuracies that evaluations give, one after the other

  int64_t draw(int64_t batches) override {
    if (before_update) before_update(++updates_);
    return SequenceTask::draw(batches);
  }
  train::BatchLoss loss(int64_t batch) override {
    train::BatchLoss result = SequenceTask::loss(batch);
    return change_loss ? change_loss(batch, std::move(result)) : result;
  }
  train::Scores evaluate() override {
    train::Scores scores = SequenceTask::evaluate();
    if (evaluations_ < script.size()) scores.metrics.front().value = script[evaluations_];
    ++evaluations_;
    return scores;
  }
  size_t evaluations() const { return evaluations_; }

 private:
  int64_t updates_ = 0;
  size_t evaluations_ = 0;
};

inline train::Outcome train_task(train::SequenceTask& task, const Recipe& recipe,
                                 const std::filesystem::path& folder, bool resume = false) {
  std::filesystem::create_directories(folder);
  train::RunSettings settings;
  settings.folder = folder;
  settings.resume = resume;
  return train::Trainer(task, recipe.train, settings).run();
}

// A whole run, with a hook on its task.
inline train::Outcome train_letters(const Recipe& recipe, const std::filesystem::path& folder,
                                    bool resume = false,
                                    const std::function<void(HookedTask&)>& disturb = nullptr) {
  const data::Dataset dataset = letters_dataset();
  HookedTask task(recipe, dataset);
  if (disturb) disturb(task);
  return train_task(task, recipe, folder, resume);
}

inline train::Checkpoint last_checkpoint(const std::filesystem::path& folder) {
  auto checkpoint = train::newest_checkpoint(folder, [](const std::string& line) { ADD_FAILURE() << line; });
  require(checkpoint.has_value(), "no checkpoint in ", folder.string());
  return std::move(*checkpoint);
}

// Names and bytes.
inline std::vector<std::pair<std::string, std::string>> contents(const Safetensors& file) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const TensorView& tensor : file.tensors())
    result.emplace_back(tensor.name,
                        std::string(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()));
  return result;
}

// Weights, optimiser and average after the run, and the model it chose.
inline void expect_same_run(const std::filesystem::path& one, const std::filesystem::path& other) {
  const train::Checkpoint a = last_checkpoint(one), b = last_checkpoint(other);
  EXPECT_EQ(a.state.update, b.state.update);
  EXPECT_EQ(a.state.best_update, b.state.best_update);
  EXPECT_EQ(a.state.evaluations_since_best, b.state.evaluations_since_best);
  EXPECT_TRUE(contents(a.model) == contents(b.model)) << "weights differ";
  EXPECT_TRUE(contents(a.training) == contents(b.training)) << "optimiser or average differ";
  EXPECT_TRUE(read_file(one / "model.safetensors") == read_file(other / "model.safetensors"))
      << "the chosen models differ";
}

// The lines of metrics.jsonl.
inline std::vector<nlohmann::json> metrics(const std::filesystem::path& folder) {
  std::vector<nlohmann::json> lines;
  for (const std::string& line : split(read_file(folder / "metrics.jsonl"), '\n'))
    if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// Updates with this metric in metrics.jsonl.
inline std::vector<int64_t> updates_with(const std::filesystem::path& folder, const std::string& metric) {
  std::vector<int64_t> updates;
  for (const nlohmann::json& line : metrics(folder))
    if (line.contains(metric)) updates.push_back(line.at("update"));
  return updates;
}

inline std::string notes(const std::filesystem::path& folder) {
  std::string all;
  for (const nlohmann::json& line : metrics(folder))
    if (line.contains("note")) all += line.at("note").get<std::string>() + "\n";
  return all;
}

}  // namespace mega::testing
