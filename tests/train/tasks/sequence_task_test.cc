#include "mega/train/tasks/sequence_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "mega/baselines/model_builders.h"
#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests
using torch::Tensor;

// Between -1 and 1.
float uniform(uint64_t& bits) {
  bits = mix_bits(bits + 1);
  return static_cast<float>(static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
}

// Series of three channels; the target is the mean of x(t) y(t - 2), the third channel is noise.
data::Part lagged_products(const std::string& name, int64_t count) {
  constexpr size_t kLength = 16, kLag = 2;
  std::vector<data::Record> records;
  std::vector<float> targets;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = stream_seed(3, name, static_cast<uint64_t>(i));
    data::Record record;
    record.where = name + ":" + std::to_string(i);
    const float own = uniform(bits);  // how much y follows x two steps earlier
    std::vector<float> x(kLength), y(kLength);
    for (float& value : x) value = uniform(bits);
    double sum = 0.0;
    for (size_t t = 0; t < kLength; ++t) {
      y[t] = (t + kLag < kLength ? own * x[t + kLag] : 0.0F) + 0.3F * uniform(bits);
      record.values.insert(record.values.end(), {5.0F + x[t], y[t], uniform(bits)});
      if (t >= kLag) sum += static_cast<double>(x[t] * y[t - kLag]);
    }
    targets.push_back(static_cast<float>(100.0 + 10.0 * sum));
    records.push_back(std::move(record));
  }
  data::Part part(std::move(records));
  part.targets = std::move(targets);
  return part;
}

TEST(SequenceTask, ARegressionOfALaggedProductIsLearnt) {
  Recipe recipe = letters_recipe();
  ClassifierOptions& model = classifier(recipe);
  model.input = InputKind::series;
  model.objective = Objective::regression;
  model.layers = 2;
  model.head = 32;
  model.block.width = model.block.shared = 16;
  model.block.values = model.block.hidden = 32;
  model.block.ema.dimension = 4;
  recipe.input.input = SeriesInput{.channels = 3};
  recipe.train.batch = 32;
  recipe.train.updates = 400;
  recipe.train.learning_rate = 0.01;
  recipe.train.warmup = 40;
  recipe.train.evaluate = recipe.train.checkpoint = "0";
  data::Dataset dataset;
  dataset.train = lagged_products("train", 1500);
  dataset.valid = lagged_products("valid", 200);
  dataset.outputs = 1;
  fit_recipe(recipe, dataset);
  EXPECT_EQ(model.channels, 3);
  EXPECT_EQ(model.classes, 1);
  HookedTask task(recipe, dataset);
  EXPECT_LT(task.chance(), 0.0) << "nothing to guess";
  const ScratchFolder folder;
  const Outcome outcome = train_task(task, recipe, folder.path());
  ASSERT_EQ(outcome.state.best.metrics.size(), 3u);
  EXPECT_EQ(outcome.state.best.metrics[2].name, "R²");
  EXPECT_GT(outcome.state.best.metrics[2].value, 0.8);
}

TEST(SequenceTask, SignatureOfTargetsByHand) {
  const Recipe recipe = letters_recipe();
  data::Dataset dataset;
  dataset.train = data::Part(std::vector<data::Record>(2));
  dataset.train.targets = {1, 7, 3, 7};
  dataset.outputs = 2;
  const Signature signature = make_signature(recipe, dataset);
  EXPECT_EQ(signature.target_mean, (std::vector<float>{2, 7}));
  EXPECT_EQ(signature.target_deviation, (std::vector<float>{1, 1})) << "a constant is not divided by nothing";
}

TEST(SequenceTask, LabelSmoothingIsTheReleasedFormula) {
  Recipe recipe = letters_recipe();
  const data::Dataset dataset = letters_dataset();
  const auto loss = [&](double smoothing) {
    recipe.train.label_smoothing = smoothing;
    HookedTask task(recipe, dataset);
    EXPECT_EQ(task.draw(2), 8);
    return task.loss(1).sum.item<double>();
  };
  const double plain = loss(0.0), uniform_target = loss(1.0);
  EXPECT_GT(std::abs(plain - uniform_target), 1e-3);
  EXPECT_NEAR(loss(0.25), 0.75 * plain + 0.25 * uniform_target, 1e-5);
}

// Of the parameter of that name, which must be there.
bool decays(const Task& task, const std::string& name) {
  for (const TensorInfo& tensor : task.tensors())
    if (tensor.name == name) return tensor.decays;
  ADD_FAILURE() << name << ": no such parameter";
  return false;
}

TEST(SequenceTask, PicturesAreLearnt) {
  const data::Dataset dataset = halves_dataset();
  for (const char* kind : {"image", "transformer", "resnet"}) {
    SCOPED_TRACE(kind);
    Recipe recipe = halves_recipe();
    fit_recipe(recipe, dataset);
    if (const auto baseline = baseline_of(recipe.model, kind)) recipe.model = *baseline;
    if (kind == std::string("resnet")) {  // its statistics lag behind weights that move fast
      recipe.train.updates = 120;
      recipe.train.learning_rate = 0.005;
    }
    HookedTask task(recipe, dataset);
    EXPECT_FALSE(decays(task, kind == std::string("resnet") ? "fc.bias" : "pos_embed"));
    EXPECT_TRUE(decays(task, kind == std::string("resnet") ? "fc.weight" : "head.weight"));
    const ScratchFolder folder;
    const Outcome outcome = train_task(task, recipe, folder.path());
    EXPECT_GT(outcome.state.best.metrics.front().value, 0.9);
  }
  for (const TensorInfo& tensor : HookedTask(letters_recipe(), letters_dataset()).tensors())
    EXPECT_TRUE(tensor.decays) << tensor.name;
}

TEST(SequenceTask, PicturesNeedAModelThatReadsThem) {
  Recipe recipe = halves_recipe();
  recipe.input.input = TextInput{};
  EXPECT_PRED2(contains, error_of([&] { fit_recipe(recipe, halves_dataset()); }), "input.kind must be image");
}

TEST(SequenceTask, PairsAreLearnt) {
  Recipe recipe = letters_recipe();
  MatcherOptions model;
  make_tiny(model);
  recipe.model.model = model;
  recipe.train.updates = 60;
  recipe.train.evaluate = recipe.train.checkpoint = "0";
  data::Dataset dataset = letters_dataset();  // the second text says the class
  for (data::Part* part : {&dataset.train, &dataset.valid})
    change_records(*part, [](data::Record& record) {
      record.second = "bbbb";
      std::swap(record.second, record.bytes);
    });
  HookedTask task(recipe, dataset);
  const ScratchFolder folder;
  const Outcome outcome = train_task(task, recipe, folder.path());
  EXPECT_GT(outcome.state.best.metrics[0].value, 0.8);
}

TEST(SequenceTask, RecipesThatDoNotFitTheData) {
  const data::Dataset dataset = letters_dataset();
  const auto error = [&](const std::function<void(Recipe&)>& change, const data::Dataset& on) {
    Recipe recipe = letters_recipe();
    change(recipe);
    return error_of([&] { fit_recipe(recipe, on); });
  };
  EXPECT_PRED2(contains, error([](Recipe& r) { r.input.input = AudioInput{}; }, dataset), "input.kind");
  EXPECT_PRED2(contains, error([](Recipe& r) { classifier(r).vocabulary = 200; }, dataset), "too small");
  EXPECT_PRED2(contains, error([](Recipe& r) { r.model.model = LanguageModelOptions{}; }, dataset),
               "only models");
  data::Dataset one = dataset;
  one.classes = {"same"};
  one.outputs = 1;
  EXPECT_PRED2(contains, error([](Recipe&) {}, one), "\"same\": there is nothing to tell apart");
  EXPECT_PRED2(contains, error([](Recipe&) {}, {}), "nothing to predict");
  Recipe ten = letters_recipe();
  classifier(ten).classes = 10;
  fit_recipe(ten, dataset);
  EXPECT_EQ(classifier(ten).classes, 2);
}

TEST(SequenceTask, ChanceIsTheLargestClass) {
  data::Dataset dataset = letters_dataset();
  dataset.valid.labels.assign(30, 0);
  std::fill_n(dataset.valid.labels.begin(), 18, 1);
  HookedTask task(letters_recipe(), dataset);
  EXPECT_DOUBLE_EQ(task.chance(), 0.6);
}

TEST(SequenceTask, NamesTheExamplesOfABatch) {
  Recipe recipe = letters_recipe();
  recipe.train.batch = 20;
  const data::Dataset dataset = letters_dataset();
  HookedTask task(recipe, dataset);
  task.draw(1);
  const std::string names = task.examples(0);
  EXPECT_PRED2(contains, names, "train:");
  EXPECT_TRUE(names.ends_with(", ...")) << names;
  EXPECT_EQ(split(names, ',').size(), 9u);
}

TEST(SequenceTask, SoftTargetsAreTheCrossEntropy) {
  const Tensor said = torch::tensor({{1.0F, -1.0F, 0.5F}, {0.0F, 2.0F, 0.0F}});
  data::Targets hard, one_hot, mixed, with_classes;
  hard.classes = {0, 2};
  one_hot.soft = {1, 0, 0, 0, 0, 1};
  data::Targets other;
  other.classes = {2, 1};
  mixed.soft = {0.75F, 0, 0.25F, 0, 0.25F, 0.75F};
  for (const double smoothing : {0.0, 0.1}) {
    const auto loss = [&](const data::Targets& targets) {
      return class_loss(said, targets, smoothing).sum.item<double>();
    };
    EXPECT_NEAR(loss(one_hot), loss(hard), 1e-6);
    EXPECT_NEAR(loss(mixed), 0.75 * loss(hard) + 0.25 * loss(other), 1e-6);
    with_classes = mixed;
    with_classes.classes = {1, 0};
    EXPECT_EQ(loss(with_classes), loss(mixed)) << "they take the place of classes";
  }
  EXPECT_EQ(class_loss(said, hard, 0.0).correct, 1.0);
  EXPECT_EQ(class_loss(said, mixed, 0.0).correct, 1.0) << "the most probable class of each";
}

TEST(SequenceTask, ResumesBitForBitWithAugmentation) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  train_letters(recipe, folder / "plain");
  recipe.augment.byte_dropout = 0.2;
  recipe.augment.crop = true;
  recipe.input.input = TextInput{TextUnits::bytes, 8};
  train_letters(recipe, folder / "whole");
  EXPECT_ANY_THROW(train_letters(recipe, folder / "cut", false, [](HookedTask& task) {
    task.before_update = [](int64_t update) { require(update < 8, "stop"); };
  }));
  EXPECT_EQ(last_checkpoint(folder / "cut").state.update, 6);
  train_letters(recipe, folder / "cut", true);
  expect_same_run(folder / "whole", folder / "cut");
  EXPECT_FALSE(contents(last_checkpoint(folder / "whole").model) ==
               contents(last_checkpoint(folder / "plain").model));
}

TEST(SequenceTask, EvaluationIsNotAugmented) {
  Recipe recipe = letters_recipe();
  const data::Dataset dataset = letters_dataset();
  HookedTask plain(recipe, dataset);
  recipe.augment.byte_dropout = 0.9;
  HookedTask augmented(recipe, dataset);
  EXPECT_EQ(augmented.evaluate().metrics[1].value, plain.evaluate().metrics[1].value);
  plain.draw(1);
  augmented.draw(1);
  EXPECT_NE(augmented.loss(0).positions, plain.loss(0).positions);
}

}  // namespace
}  // namespace mega::train
