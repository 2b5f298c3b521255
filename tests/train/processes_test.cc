// N processes that share batches of B train as one process does with batches of B.
#include "tests/distributed/processes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "mega/data/shared_source.h"
#include "mega/ops/precision.h"
#include "mega/train/saved_model.h"
#include "mega/train/tasks/translation_job.h"
#include "tests/train/language_helpers.h"
#include "tests/train/translation_helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests
using distributed::World;

// What remains of a run: losses of its updates, scores, weights.
using Remains = std::vector<double>;

// A task and what it refers to.
struct Made {
  std::shared_ptr<void> data;
  std::unique_ptr<Task> task;
};
using Make = std::function<Made()>;

Made letters_task(const Recipe& recipe) {
  auto dataset = std::make_shared<data::Dataset>(letters_dataset());
  auto task =
      std::make_unique<SequenceTask>(recipe, *dataset, data::make_signature(recipe, *dataset), torch::kCPU);
  return {dataset, std::move(task)};
}

class Processes : public TranslationTest {
 protected:
  // In double, where models take it: rounding errors of float32 grow with Adam, which divides by the size of
  // small gradients.
  // `resumed`: the folder of a run that goes on.
  Remains train(int processes, const Recipe& recipe, const Make& make, bool in_double = true,
                const std::filesystem::path& resumed = {}) {
    const std::filesystem::path folder =
        resumed.empty() ? folder_.path() / ("run-" + std::to_string(++runs_)) : resumed;
    std::filesystem::create_directories(folder);
    last_ = folder;
    distributed::in_processes(processes, [&](World* world) {
      Made made = make();
      if (in_double) made.task->model().to(torch::kFloat64);
      if (world != nullptr) made.task->enter(*world);
      const ScratchFolder own;
      RunSettings settings;
      settings.folder = world == nullptr || world->leads() ? folder : own.path();
      settings.resume = !resumed.empty();
      settings.world = world;
      if (settings.resume && world != nullptr) share_checkpoint(*world, settings.folder);
      const Outcome outcome = Trainer(*made.task, recipe.train, settings).run();
      Remains remains;
      for (const nlohmann::json& line : metrics(settings.folder))
        if (line.contains("loss")) remains.push_back(line.at("loss"));
      // Accuracy and area under the curve jump by an example, which the rounding of float32 decides.
      for (const Metric& metric : outcome.state.best.metrics)
        if (in_double || metric.name == "loss") remains.push_back(metric.value);
      const size_t before_weights = remains.size();
      for (const auto& [name, weight] : weights_of(made.task->model())) {
        const torch::Tensor numbers = weight.detach().to(torch::kFloat64).contiguous().view(-1);
        const double* begin = numbers.data_ptr<double>();
        remains.insert(remains.end(), begin, begin + numbers.numel());
      }
      // Every process has the same weights, to the bit.
      if (world != nullptr)
        world->require_same("weights",
                            std::string(reinterpret_cast<const char*>(remains.data() + before_weights),
                                        (remains.size() - before_weights) * sizeof(double)));
      if (world != nullptr && world->leads())
        write_file(folder / "sent", std::to_string(world->common().bytes_sent()) + " " +
                                        std::to_string(world->gradients().bytes_sent()));
      if (world == nullptr || world->leads())
        write_file(folder / "remains", std::string(reinterpret_cast<const char*>(remains.data()),
                                                   remains.size() * sizeof(double)));
    });
    const std::string bytes = read_file(folder / "remains");
    Remains remains(bytes.size() / sizeof(double));
    std::memcpy(remains.data(), bytes.data(), bytes.size());
    return remains;
  }

  static void expect_equal(const Remains& a, const Remains& b, double tolerance) {
    ASSERT_EQ(a.size(), b.size());
    double worst = 0.0;
    for (size_t i = 0; i < a.size(); ++i)
      worst = std::max(worst, std::abs(a[i] - b[i]) / (1.0 + std::abs(a[i])));
    EXPECT_LT(worst, tolerance);
  }

  void expect_equal_runs(Recipe recipe, const std::function<Made(const Recipe&)>& make,
                         double tolerance = 1e-9, bool in_double = true) {
    recipe.train.updates = 50;
    recipe.train.evaluate = "25u";
    recipe.train.checkpoint = "0";
    const Remains alone = train(
        1, recipe, [&] { return make(recipe); }, in_double);
    EXPECT_GT(alone.size(), 50U);
    for (const int processes : {2, 3, 4}) {
      SCOPED_TRACE(processes);
      expect_equal(train(
                       processes, recipe, [&] { return make(recipe); }, in_double),
                   alone, tolerance);
    }
  }

  Made alphabet_task(const Recipe& recipe) {
    const std::filesystem::path folder = folder_.path() / ("corpus-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    auto corpus = std::make_shared<data::Corpus>(alphabet_corpus(folder));
    auto task = std::make_unique<LanguageTask>(recipe, *corpus, torch::kCPU);
    return Made{corpus, std::move(task)};
  }

  std::filesystem::path last_;  // folder of the last run

 private:
  int runs_ = 0;
};

// Batches of 7 of 40, the last of 5: shares are never equal.
TEST_F(Processes, BatchNormAndAccumulation) {
  for (const NormKind norm : {NormKind::batch, NormKind::sync_batch}) {
    Recipe recipe = letters_recipe();
    classifier(recipe).block.norm = norm;
    recipe.train.batch = 7;
    recipe.train.accumulation = 2;
    recipe.train.average = 0.9;
    expect_equal_runs(recipe, letters_task);
  }
}

// Blocks are skipped at random: all processes the same ones where they share batch norms within, else each
// its own. Either way they keep step and the same weights (train).
TEST_F(Processes, SkippedBlocks) {
  for (const NormKind norm : {NormKind::batch, NormKind::layer}) {
    Recipe recipe = letters_recipe();
    classifier(recipe).block.norm = norm;
    classifier(recipe).block.layer_dropout = 0.5;
    recipe.train.batch = 7;
    recipe.train.updates = 20;
    const Remains together = train(3, recipe, [&] { return letters_task(recipe); });
    EXPECT_GT(together.size(), 20U);
    for (const double number : together) EXPECT_TRUE(std::isfinite(number));
  }
}

// Each process has a part of the moments; the checkpoint has them all, and any number goes on from it.
TEST_F(Processes, SharedOptimizer) {
  Recipe recipe = letters_recipe();
  recipe.train.batch = 7;
  recipe.train.clip = 0.5;
  recipe.train.weight_decay = 0.1;
  recipe.train.average = 0.9;
  recipe.train.processes.bucket = 1;  // several rows
  recipe.train.processes.share_optimizer = true;
  expect_equal_runs(recipe, letters_task);
  expect_equal_runs(recipe, letters_task, 1e-3, /*in_double=*/false);

  recipe.train.schedule = Schedule::constant;
  recipe.train.evaluate = "20u";
  recipe.train.checkpoint = "20u";
  recipe.train.keep = 100;
  const Make make = [&] { return letters_task(recipe); };
  recipe.train.updates = 40;
  const Remains alone = train(1, recipe, make);
  const Safetensors expected = Safetensors::open(last_ / "checkpoints/00000020/training.safetensors");
  for (const int processes : {1, 2, 4}) {
    SCOPED_TRACE(processes);
    recipe.train.updates = 20;
    train(3, recipe, make);
    const Safetensors found = Safetensors::open(last_ / "checkpoints/00000020/training.safetensors");
    ASSERT_EQ(found.tensors().size(), expected.tensors().size());
    for (const TensorView& tensor : expected.tensors())
      EXPECT_TRUE(torch::allclose(ops::to_tensor(tensor), ops::to_tensor(found.at(tensor.name)), 1e-6, 1e-9))
          << tensor.name;
    recipe.train.updates = 40;
    expect_equal(train(processes, recipe, make, true, last_), alone, 1e-4);
  }

  // Of two processes, each sends its half of the parameters in every update, and of the gradients the half
  // that is not its own.
  struct Sent {
    double parameters, gradients;
  };
  const auto sent = [&](bool shared) {
    recipe.train.processes.share_optimizer = shared;
    train(2, recipe, make);
    std::istringstream text(read_file(last_ / "sent"));
    Sent bytes{};
    text >> bytes.parameters >> bytes.gradients;
    return bytes;
  };
  const double half = 40 * 0.5 * sizeof(double) * static_cast<double>(alone.size());
  const Sent with = sent(true), without = sent(false);
  EXPECT_GT(with.parameters - without.parameters, 0.8 * half);
  EXPECT_LT(with.gradients, 1.2 * half);
  EXPECT_GT(without.gradients, 1.6 * half);
}

// Some processes have no example of a batch.
TEST_F(Processes, MoreProcessesThanExamples) {
  for (const NormKind norm : {NormKind::batch, NormKind::layer}) {
    Recipe recipe = letters_recipe();
    classifier(recipe).block.norm = norm;
    recipe.train.batch = 3;
    expect_equal_runs(recipe, letters_task);
  }
}

TEST_F(Processes, LanguageModel) {
  const auto make = [&](const Recipe& recipe) { return alphabet_task(recipe); };
  expect_equal_runs(alphabet_recipe(), make);
  Recipe carry = alphabet_recipe();
  carry.train.blocks.carry = true;
  carry.train.batch = 5;
  carry.train.batch_unit = BatchUnit::examples;
  expect_equal_runs(carry, make);
}

// Each process has a piece of every sequence; texts of 7 to 15 letters, some of them shorter than there are
// chunks for all.
TEST_F(Processes, SharedSequencesOfAClassifier) {
  for (const int64_t chunk : {int64_t{4}, int64_t{-1}})
    for (const int64_t truncation : {0, 3}) {
      SCOPED_TRACE(::testing::Message() << "chunk " << chunk << ", truncation " << truncation);
      Recipe recipe = letters_recipe();
      recipe.train.processes.share = SharedWork::sequences;
      recipe.train.batch = 7;
      BlockOptions& block = classifier(recipe).block;
      block.chunk = chunk;
      block.ema.truncation = truncation;
      block.norm = truncation == 0 ? NormKind::batch : NormKind::scale;
      classifier(recipe).pooling = truncation == 0 ? Pooling::mean : Pooling::cls;
      recipe.train.accumulation = truncation == 0 ? 2 : 1;
      expect_equal_runs(recipe, letters_task);
      // The fused forms. Batch norms round so differently there that 50 updates drift apart, however
      // processes share the work.
      block.norm = NormKind::scale;
      expect_equal_runs(recipe, letters_task, 2e-3, /*in_double=*/false);
    }
}

TEST_F(Processes, SharedSequencesOfALanguageModel) {
  const auto make = [&](const Recipe& recipe) { return alphabet_task(recipe); };
  Recipe recipe = alphabet_recipe();
  recipe.train.processes.share = SharedWork::sequences;
  recipe.train.processes.share_optimizer = true;
  recipe.train.blocks.min_chunks = 1;
  expect_equal_runs(recipe, make);
  auto& model = std::get<LanguageModelOptions>(recipe.model.model);
  model.block.chunk = -1;
  recipe.train.blocks.chunk = 16;
  expect_equal_runs(recipe, make);
}

TEST_F(Processes, Translator) {
  Recipe translator = recipe();
  translator.train.label_smoothing = 0.1;
  expect_equal_runs(translator, [](const Recipe& one) {
    auto job = std::make_shared<TranslationJob>(one);
    return Made{job, job->make_task(torch::kCPU)};
  });
}

// Pictures that are mixed with each other: every process mixes as one would.
TEST_F(Processes, Pictures) {
  Recipe recipe = halves_recipe();
  data::fit_recipe(recipe, halves_dataset());
  std::get<ImageClassifierOptions>(recipe.model.model).block.drop_path = 0.0;
  recipe.train.batch = 9;
  recipe.train.learning_rate = 1e-3;
  recipe.augment.image.mixup = 0.8;
  recipe.augment.image.cutmix = 1.0;
  expect_equal_runs(
      recipe,
      [](const Recipe& one) {
        auto dataset = std::make_shared<data::Dataset>(halves_dataset());
        auto task =
            std::make_unique<SequenceTask>(one, *dataset, data::make_signature(one, *dataset), torch::kCPU);
        return Made{dataset, std::move(task)};
      },
      1e-3, /*in_double=*/false);
}

// bf16 only where all have it: what one of them would compute otherwise is what no run on one machine does.
TEST(PrecisionOfProcesses, IsThatOfTheWeakest) {
  const auto of = [](Precision second) {
    std::vector<Precision> found(2);
    distributed::expect_none(distributed::in_worlds(2, [&](World& world) {
      found[static_cast<size_t>(world.rank())] =
          update_precision(world.leads() ? Precision::bf16 : second, &world);
    }));
    return found;
  };
  const Precision best = ops::available_precision(Precision::bf16);
  EXPECT_EQ(of(Precision::automatic), (std::vector{best, best}));
  EXPECT_EQ(of(Precision::f32), (std::vector{Precision::f32, Precision::f32}));
}

}  // namespace
}  // namespace mega::train
