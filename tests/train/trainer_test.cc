#include "mega/train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <limits>

#include "mega/config/files/model_file.h"
#include "mega/ops/precision.h"
#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests
namespace fs = std::filesystem;
using torch::Tensor;
using Updates = std::vector<int64_t>;

constexpr const char* kValid = "valid_accuracy";

// What a power cut does, seen from the disk.
struct Crash {};
auto crash_before(int64_t update) {
  return [update](HookedTask& task) {
    task.before_update = [update](int64_t now) {
      if (now == update) throw Crash();
    };
  };
}

std::vector<std::string> checkpoint_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

Tensor parameter(HookedTask& task, const std::string& end) {
  const auto parameters = task.model().named_parameters();
  for (const auto& item : parameters)
    if (item.key().ends_with(end)) return item.value();
  fail("no parameter ends in ", end);
}

void poison(HookedTask& task, const std::string& end) {
  const torch::NoGradGuard guard;
  parameter(task, end).fill_(std::numeric_limits<float>::quiet_NaN());
}

TEST(Trainer, LearnsAndLeavesAWholeRun) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.updates = 80;
  recipe.train.evaluate = "20u";
  const Outcome outcome = train_letters(recipe, folder.path());
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_FALSE(outcome.stopped_early);
  EXPECT_EQ(outcome.state.update, 80);
  EXPECT_EQ(outcome.state.cursor.epoch, 8);
  EXPECT_GT(outcome.state.best.metrics.front().value, 0.9);
  for (const char* name : {"model.safetensors", "report.html", "metrics.jsonl"})
    EXPECT_TRUE(fs::exists(folder / name)) << name;
  EXPECT_EQ(updates_with(folder.path(), "loss"), (Updates{10, 20, 30, 40, 50, 60, 70, 80}));
  EXPECT_EQ(updates_with(folder.path(), "waiting").size(), 8u);
  EXPECT_GT(outcome.state.waiting_seconds, 0);
  EXPECT_LT(outcome.state.waiting_seconds, outcome.state.seconds);
  EXPECT_PRED2(contains, read_file(folder / "report.html"), "<dt>waiting for data</dt>");
}

TEST(Trainer, SameSeedSameBitsOtherSeedOtherBits) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  classifier(recipe).block.dropout = 0.1;
  train_letters(recipe, folder / "one");
  train_letters(recipe, folder / "two");
  expect_same_run(folder / "one", folder / "two");
  recipe.train.seed = 2;
  train_letters(recipe, folder / "other");
  EXPECT_FALSE(contents(last_checkpoint(folder / "one").model) ==
               contents(last_checkpoint(folder / "other").model));
}

struct Variant {
  const char* name;
  std::function<void(Recipe&)> change;
};

TEST(Trainer, ResumesBitForBit) {
  const Variant variants[] = {{"dropout",
                               [](Recipe& r) {
                                 BlockOptions& block = classifier(r).block;
                                 block.dropout = block.attention_dropout = block.hidden_dropout = 0.2;
                               }},
                              {"batch norm",
                               [](Recipe& r) {
                                 classifier(r).block.norm = NormKind::batch;
                                 classifier(r).block.prenorm = true;
                               }},
                              {"accumulation",
                               [](Recipe& r) {
                                 r.train.accumulation = 2;
                                 classifier(r).block.dropout = 0.2;
                               }},
                              {"average", [](Recipe& r) { r.train.average = 0.99; }},
                              {"bf16",
                               [](Recipe& r) {
                                 r.train.precision = Precision::bf16;
                                 r.train.average = 0.99;
                                 classifier(r).block.dropout = 0.2;
                               }},
                              {"all, with batches of tokens", [](Recipe& r) {
                                 // Each epoch divides the examples into another number of batches.
                                 r.train.batch = 30;
                                 r.train.by_length = false;
                                 r.train.evaluate = "0.2e";
                                 r.train.accumulation = 2;
                                 r.train.average = 0.99;
                                 r.train.batch_unit = BatchUnit::tokens;
                                 classifier(r).block.norm = NormKind::batch;
                                 classifier(r).block.dropout = 0.2;
                               }}};
  for (const Variant& variant : variants) {
    const ScratchFolder folder;
    Recipe recipe = letters_recipe();
    recipe.train.updates = 25;
    recipe.train.evaluate = "0.5e";
    variant.change(recipe);
    train_letters(recipe, folder / "whole");
    // Twice cut short, between checkpoints and in different epochs.
    EXPECT_THROW(train_letters(recipe, folder / "cut", false, crash_before(9)), Crash);
    EXPECT_THROW(train_letters(recipe, folder / "cut", true, crash_before(12)), Crash);
    EXPECT_EQ(last_checkpoint(folder / "cut").state.update, 15) << variant.name;
    train_letters(recipe, folder / "cut", true);
    SCOPED_TRACE(variant.name);
    expect_same_run(folder / "whole", folder / "cut");
    EXPECT_EQ(updates_with(folder / "cut", kValid), updates_with(folder / "whole", kValid));
    const Updates logged = updates_with(folder / "cut", "loss");
    EXPECT_TRUE(std::is_sorted(logged.begin(), logged.end(), std::less_equal<>())) << "none twice";
  }
}

// Where the CPU has bf16 arithmetic, it changes the numbers and little else; the run says which precision it
// had.
TEST(Trainer, ThePrecisionIsRecordedAndTrains) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  const Outcome wide = train_letters(recipe, folder / "f32");
  EXPECT_EQ(wide.state.precision, Precision::f32);
  for (const Precision asked : {Precision::bf16, Precision::automatic}) {
    recipe.train.precision = asked;
    const fs::path run = folder.path() / to_string(asked);
    const Outcome narrow = train_letters(recipe, run);
    EXPECT_EQ(narrow.state.precision, ops::available_precision(asked));
    EXPECT_EQ(last_checkpoint(run).state.precision, narrow.state.precision);
    EXPECT_NE(read_file(run / "report.html").find(std::string(to_string(narrow.state.precision))),
              std::string::npos);
    const bool same = read_file(run / "model.safetensors") == read_file(folder / "f32" / "model.safetensors");
    EXPECT_EQ(same, narrow.state.precision == Precision::f32);
    EXPECT_NEAR(narrow.state.best.metrics.front().value, wide.state.best.metrics.front().value, 0.1);
  }
}

TEST(Trainer, StopsAtASignalAndLosesNothing) {
  const ScratchFolder folder;
  const Recipe recipe = letters_recipe();
  train_letters(recipe, folder / "whole");
  // In the eighth update, which an evaluation should follow.
  const Outcome stopped = train_letters(recipe, folder / "cut", false, [](HookedTask& task) {
    task.before_update = [](int64_t now) {
      if (now == 8) std::raise(SIGTERM);
    };
  });
  EXPECT_EQ(stopped.signal, SIGTERM);
  EXPECT_EQ(stopped.state.update, 8);
  EXPECT_EQ(last_checkpoint(folder / "cut").state.update, 8);
  EXPECT_EQ(updates_with(folder / "cut", kValid), Updates{4}) << "a signal does not wait for an evaluation";
  const Outcome resumed = train_letters(recipe, folder / "cut", true);
  EXPECT_EQ(resumed.signal, 0);
  EXPECT_EQ(updates_with(folder / "cut", kValid), (Updates{4, 8, 12}));
  expect_same_run(folder / "whole", folder / "cut");
}

TEST(Trainer, AClosedTerminalOrPipeStopsTheRunWithACheckpoint) {
  for (const int signal : {SIGHUP, SIGPIPE, SIGINT}) {
    const ScratchFolder folder;
    const Outcome stopped = train_letters(letters_recipe(), folder.path(), false, [&](HookedTask& task) {
      task.before_update = [&](int64_t now) {
        if (now == 3) std::raise(signal);
        if (now == 3 && signal == SIGPIPE) std::raise(signal);  // every line that is written says so again
      };
    });
    EXPECT_EQ(stopped.signal, signal);
    EXPECT_EQ(last_checkpoint(folder.path()).state.update, 3);
  }
}

TEST(Trainer, ATimeBudgetIsPlannedAgainWhenResumed) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.time = "2s";
  recipe.train.evaluate = "0.2s";
  const Outcome stopped = train_letters(recipe, folder.path(), false, [](HookedTask& task) {
    task.before_update = [](int64_t now) {
      if (now == 3) std::raise(SIGTERM);
    };
  });
  EXPECT_EQ(stopped.state.update, 3);
  const TrainingState saved = last_checkpoint(folder.path()).state;
  EXPECT_GT(saved.wall_seconds, 0.0);
  EXPECT_GT(saved.planned, 3);
  const Outcome resumed = train_letters(recipe, folder.path(), true);
  EXPECT_GT(resumed.state.update, 3);
  EXPECT_EQ(resumed.state.planned, resumed.state.update) << "the number of updates is recorded";
  EXPECT_LT(last_checkpoint(folder.path()).state.wall_seconds, 4.0);
  const Outcome again = train_letters(recipe, folder.path(), true);
  EXPECT_EQ(again.state.update, resumed.state.update) << "a finished run stays finished";
}

TEST(Trainer, ResumingAFinishedRunChangesNothing) {
  const ScratchFolder folder;
  const Recipe recipe = letters_recipe();
  train_letters(recipe, folder.path());
  const std::string model = read_file(folder / "model.safetensors");
  const std::string log = read_file(folder / "metrics.jsonl");
  const Outcome outcome = train_letters(recipe, folder.path(), true);
  EXPECT_EQ(outcome.state.update, recipe.train.updates);
  EXPECT_EQ(read_file(folder / "model.safetensors"), model);
  EXPECT_EQ(read_file(folder / "metrics.jsonl"), log);
}

TEST(Trainer, KeepsTheBestModelByEvaluation) {
  for (const double average : {0.0, 0.9}) {
    const ScratchFolder folder;
    Recipe recipe = letters_recipe();
    recipe.train.average = average;
    recipe.train.evaluate = recipe.train.checkpoint = "3u";
    recipe.train.keep = 100;
    const double nan = std::nan("");
    const Outcome outcome = train_letters(recipe, folder.path(), false, [&](HookedTask& task) {
      task.script = {nan, 0.7, 0.9, 0.9};  // the first of equals counts
    });
    EXPECT_EQ(outcome.state.best_update, 9);
    EXPECT_EQ(outcome.state.evaluations_since_best, 1);
    const ModelFile best = ModelFile::open(folder / "model.safetensors");
    const auto at_best = folder.path() / "checkpoints" / "00000009";
    const Safetensors weights = Safetensors::open(at_best / "model.safetensors");
    const Safetensors training = Safetensors::open(at_best / "training.safetensors");
    for (const TensorView& weight : weights.tensors()) {
      const TensorView& expected = average > 0 ? training.at("average." + weight.name) : weight;
      const TensorView& chosen = best.tensors.at(weight.name);
      EXPECT_TRUE(std::equal(chosen.data.begin(), chosen.data.end(), expected.data.begin())) << weight.name;
    }
  }
}

TEST(Trainer, AnEvaluationWithoutANumberIsNeverTheBest) {
  const ScratchFolder folder;
  const Recipe recipe = letters_recipe();
  const double nan = std::nan("");
  const Outcome outcome = train_letters(recipe, folder.path(), false, [&](HookedTask& task) {
    task.script = {nan, nan, nan};
  });
  EXPECT_TRUE(outcome.state.best.metrics.empty());
  EXPECT_EQ(last_checkpoint(folder.path()).state.update, 12);
}

TEST(Trainer, StopsEarlyAndStaysStopped) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.updates = 100;
  recipe.train.patience = 2;
  const auto script = [](HookedTask& task) { task.script = {0.6, 0.8, 0.7, 0.8, 0.9}; };
  const Outcome outcome = train_letters(recipe, folder.path(), false, script);
  EXPECT_TRUE(outcome.stopped_early);
  EXPECT_EQ(outcome.state.update, 16);
  EXPECT_EQ(outcome.state.best_update, 8);
  const Outcome again = train_letters(recipe, folder.path(), true);
  EXPECT_TRUE(again.stopped_early);
  EXPECT_EQ(again.state.update, 16);
}

TEST(Trainer, KeepsTheNewestCheckpoints) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.keep = 3;
  recipe.train.updates = 14;
  train_letters(recipe, folder.path());
  EXPECT_EQ(checkpoint_names(folder.path()), (std::vector<std::string>{"00000009", "00000012", "00000014"}));
}

TEST(Trainer, EvaluatesAsOftenAsAsked) {
  const ScratchFolder folder;
  const auto evaluated = [&](const std::string& period) {
    Recipe recipe = letters_recipe();  // ten batches an epoch
    recipe.train.evaluate = period;
    train_letters(recipe, folder / "run");
    const Updates updates = updates_with(folder / "run", kValid);
    fs::remove_all(folder / "run");
    return updates;
  };
  EXPECT_EQ(evaluated("5u"), (Updates{5, 10, 12}));
  EXPECT_EQ(evaluated("1e"), (Updates{10, 12}));
  EXPECT_EQ(evaluated("0.1e"), (Updates{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(evaluated("0.4e"), (Updates{4, 8, 12}));
  EXPECT_EQ(evaluated("1h"), Updates{12});
  EXPECT_EQ(evaluated("0"), Updates{12});
  EXPECT_EQ(evaluated("0.000001s").size(), 12u);
}

TEST(Trainer, NothingToTrainIsARunTooAndNothingToEvaluateOnKeepsTheLast) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  data::Dataset dataset = letters_dataset();
  dataset.valid = {};
  HookedTask task(recipe, dataset);
  train_task(task, recipe, folder / "run");
  EXPECT_TRUE(updates_with(folder / "run", kValid).empty());
  const Safetensors last = last_checkpoint(folder / "run").model;
  const ModelFile model = ModelFile::open(folder / "run/model.safetensors");
  EXPECT_TRUE(contents(last) == contents(model.tensors));

  recipe.train.updates = 0;
  EXPECT_EQ(train_letters(recipe, folder / "none").state.update, 0);
  EXPECT_EQ(last_checkpoint(folder / "none").state.update, 0);
}

TEST(Trainer, ANonFiniteLossStopsTheRunAndNamesThePlace) {
  const Recipe recipe = letters_recipe();
  for (const auto& [weight, place] : {std::pair{"nffn.fc1.weight", "layers.0.nffn"},
                                      {"embed_tokens.embed.weight", "embed_tokens"},
                                      {"sentence_projection_layer.weight", "classifier"}}) {
    const ScratchFolder folder;
    const std::string error = error_of([&, weight = weight] {
      train_letters(recipe, folder.path(), false, [&](HookedTask& task) {
        task.before_update = [&](int64_t now) {
          if (now == 8) poison(task, weight);
        };
      });
    });
    EXPECT_PRED2(contains, error, "update 8");
    EXPECT_PRED2(contains, error, std::string("first in ") + place);
    EXPECT_PRED2(contains, error, "train:");
    EXPECT_PRED2(contains, error, "The checkpoint after update 6 is intact");
    EXPECT_PRED2(contains, error, "train.learning_rate");
    EXPECT_PRED2(contains, notes(folder.path()), place);
    // It is, and goes on without the poison.
    EXPECT_EQ(train_letters(recipe, folder.path(), true).state.update, 12);
  }
}

TEST(Trainer, ANonFiniteGradientNamesParameterAndBatch) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.accumulation = 3;
  recipe.train.checkpoint = "0";
  std::string examples;
  const std::string error = error_of([&] {
    train_letters(recipe, folder.path(), false, [&](HookedTask& task) {
      task.change_loss = [&](int64_t batch, BatchLoss loss) {
        if (batch != 1) return loss;
        // The root of nothing: 0, with an infinite slope.
        const Tensor p = parameter(task, "nffn.fc2.bias");
        loss.sum = loss.sum + torch::sqrt(p - p.detach()).sum();
        examples = task.examples(1);
        return loss;
      };
    });
  });
  EXPECT_PRED2(contains, error, "update 1: the gradient norm is not finite");
  EXPECT_PRED2(contains, error, "the gradient of encoder.encoder.layers.0.nffn.fc2.bias");
  EXPECT_PRED2(contains, error, "batch of " + examples + ". ");
  EXPECT_PRED2(contains, error, "No checkpoint was saved yet");
}

TEST(Trainer, TheSameDropoutIsUsedToFindThePlace) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  classifier(recipe).block.dropout = 0.5;
  const std::string error = error_of([&] {
    train_letters(recipe, folder.path(), false, [&](HookedTask& task) {
      // Not finite for some draws only.
      const auto first = std::make_shared<double>(0.0);
      task.change_loss = [first](int64_t, BatchLoss loss) {
        const double value = loss.sum.item<double>();
        if (*first == 0.0) *first = value;
        if (value == *first) loss.sum = loss.sum / 0.0;
        return loss;
      };
    });
  });
  EXPECT_PRED2(contains, error, "the loss is not finite, first in the loss itself");
}

TEST(Trainer, AnInputThatIsNotFiniteIsNamed) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.batch = 1;
  ClassifierOptions& model = classifier(recipe);
  model.input = InputKind::series;
  recipe.input.input = SeriesInput{.channels = 1, .max_length = 0, .standardize = Standardize::none};
  data::Dataset dataset = letters_dataset();
  for (data::Part* part : {&dataset.train, &dataset.valid})
    change_records(*part, [](data::Record& record) {
      for (const char c : record.bytes) record.values.push_back(c == 'a' ? -1.0F : 1.0F);
      if (record.where == "train:17") record.values[3] = std::numeric_limits<float>::infinity();
    });
  recipe.train.updates = 40;
  HookedTask task(recipe, dataset);
  const std::string error = error_of([&] { train_task(task, recipe, folder.path()); });
  EXPECT_PRED2(contains, error, "first in embed_tokens");
  EXPECT_PRED2(contains, error, "batch of train:17. ");
}

TEST(Trainer, AHugeLearningRateEndsInAnErrorNotInNonsense) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.learning_rate = recipe.train.initial_learning_rate = 1e3;
  recipe.train.weight_decay = 100;
  recipe.train.updates = 100;
  recipe.train.checkpoint = "1u";
  const std::string error = error_of([&] { train_letters(recipe, folder.path()); });
  EXPECT_PRED2(contains, error, "Try a lower train.learning_rate (it was 9");
  const Checkpoint last = last_checkpoint(folder.path());
  for (const TensorView& weight : last.model.tensors())
    EXPECT_TRUE(torch::isfinite(ops::to_tensor(weight)).all().item<bool>()) << weight.name;
}

TEST(Trainer, WeightsThatAreNotFiniteAreNeitherEvaluatedNorSaved) {
  for (std::string TrainOptions::*period : {&TrainOptions::evaluate, &TrainOptions::checkpoint}) {
    const ScratchFolder folder;
    Recipe recipe = letters_recipe();
    recipe.train.evaluate = recipe.train.checkpoint = "4u";
    recipe.train.*period = "1u";
    int64_t update = 0;
    const std::string error = error_of([&] {
      train_letters(recipe, folder.path(), false, [&](HookedTask& task) {
        task.before_update = [&](int64_t now) { update = now; };
        task.change_loss = [&](int64_t, BatchLoss loss) {
          // As if the update had made it too large: the loss is finite, and so are the gradients.
          const torch::NoGradGuard guard;
          if (update == 7) parameter(task, "nffn.fc2.bias").fill_(std::numeric_limits<float>::infinity());
          return loss;
        };
      });
    });
    EXPECT_PRED2(contains, error, "update 7: encoder.encoder.layers.0.nffn.fc2.bias is no longer finite");
    EXPECT_NE(last_checkpoint(folder.path()).state.update, 7);
    EXPECT_NE(updates_with(folder.path(), kValid).back(), 7);
  }
}

TEST(Trainer, OtherErrorsOfAModelPassAsTheyAre) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  classifier(recipe).block.max_positions = 5;
  const std::string error = error_of([&] { train_letters(recipe, folder.path()); });
  EXPECT_PRED2(contains, error, "raise max_positions");
  EXPECT_FALSE(contains(error, "learning_rate"));
}

TEST(Trainer, NotesALossSpike) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.updates = 62;
  recipe.train.evaluate = recipe.train.checkpoint = "0";
  train_letters(recipe, folder.path(), false, [](HookedTask& task) {
    const auto update = std::make_shared<int64_t>(0);
    task.before_update = [update](int64_t now) { *update = now; };
    task.change_loss = [update](int64_t, BatchLoss loss) {
      if (*update == 60) loss.sum = loss.sum + 1000.0;
      return loss;
    };
  });
  EXPECT_PRED2(contains, notes(folder.path()), "loss spike: 25");
  EXPECT_EQ(updates_with(folder.path(), "note"), Updates{60});
}

TEST(Trainer, NotesAModelThatIsStillAtChance) {
  const ScratchFolder folder;
  const Recipe recipe = letters_recipe();
  train_letters(recipe, folder.path(), false, [](HookedTask& task) {
    task.script = {task.chance() - 0.1, task.chance(), 1.0};
  });
  EXPECT_EQ(updates_with(folder.path(), "note"), (Updates{4, 8}));
  EXPECT_PRED2(contains, notes(folder.path()), "epochs: always predicting the largest class gives");
}

TEST(Trainer, ReadsADamagedLogWithoutFear) {
  const ScratchFolder folder;
  const Recipe recipe = letters_recipe();
  EXPECT_THROW(train_letters(recipe, folder.path(), false, crash_before(11)), Crash);
  {
    std::ofstream log(folder / "metrics.jsonl", std::ios::app);
    log << R"({"update": 3, "note": 5})"
        << "\n"
        << R"({"update": 1e300, "loss": 1})"
        << "\n"
        << R"({"update": -1e300, "note": "x"})"
        << "\n"
        << R"({"update": "two"})"
        << "\n"
        << "[]\n7\nnull\n\xff\xfe\n"
        << std::string(100000, '[') << "\n"
        << R"({"update": 9, "lo)";
  }
  train_letters(recipe, folder.path(), true);
  EXPECT_EQ(updates_with(folder.path(), kValid), (Updates{4, 8, 12}));
  EXPECT_EQ(updates_with(folder.path(), "note"), Updates{});
}

TEST(Trainer, FrozenParametersDoNotMove) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  recipe.train.groups = {{"*.layers.0.*", 0.0, 1.0}};
  const data::Dataset dataset = letters_dataset();
  HookedTask task(recipe, dataset);
  const auto parameters = task.model().named_parameters();
  std::map<std::string, Tensor> before;
  for (const auto& item : parameters) before[item.key()] = item.value().detach().clone();
  train_task(task, recipe, folder.path());
  for (const auto& item : parameters) {
    const bool frozen = item.key().find(".layers.0.") != std::string::npos;
    EXPECT_EQ(item.value().equal(before[item.key()]), frozen) << item.key();
  }
}

}  // namespace
}  // namespace mega::train
