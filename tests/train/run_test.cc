#include "mega/train/run.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <regex>

#include "mega/base/files/folder_lock.h"
#include "mega/train/estimate.h"
#include "mega/train/saved_model.h"
#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests
namespace fs = std::filesystem;

class Run : public ::testing::Test {
 protected:
  // Texts of letters as a table, with `classes` names for the classes.
  fs::path table(const std::string& name, int64_t classes = 2) const {
    std::string text;
    const data::Part part = letters(name, 60);
    for (int64_t i = 0; i < part.size(); ++i)
      text += (i % 20 == 7 && classes == 3 ? "c" : part.label(i)) + "\t" + part.get(i).bytes + "\n";
    const fs::path path = folder_.path() / (name + ".tsv");
    write_file(path, text);
    return path;
  }
  RunRequest request(const fs::path& data, const char* out) const {
    RunRequest request;
    request.recipe = letters_recipe();
    request.recipe.data.path = data;
    request.recipe.data.format = DataFormat::text;
    request.folder = folder_ / out;
    request.command = "mega train";
    return request;
  }

  ScratchFolder folder_;
};

TEST_F(Run, FromAFileToAResult) {
  RunRequest asked = request(table("all"), "run");
  asked.recipe.train.updates = 60;
  const RunResult result = run(asked);
  EXPECT_GT(result.parameters, 0);
  ASSERT_FALSE(result.test.metrics.empty());
  for (const char* name : {"recipe.json", "result.json", "report.html", "model.safetensors", "metrics.jsonl"})
    EXPECT_TRUE(fs::exists(asked.folder / name)) << name;
  const auto json = nlohmann::json::parse(read_file(asked.folder / "result.json"));
  EXPECT_EQ(json.at("updates"), 60);
  EXPECT_EQ(json.at("precision"), "f32");
  EXPECT_EQ(json.at("test").at("accuracy"), result.test.metrics.front().value);
  EXPECT_TRUE(holds_a_run(asked.folder));
  const Recipe recipe = load_run_recipe(asked.folder);
  EXPECT_EQ(recipe.data.path, asked.recipe.data.path);
  EXPECT_EQ(recipe.train.updates, 60);

  // The metrics are those of the model that was kept.
  const SavedModel saved = load_model(asked.folder / "model.safetensors");
  const data::Dataset dataset = load_dataset(data::dataset_request(recipe, saved.signature.classes));
  const data::Encoder encoder(saved.signature, cls_token(saved.options));
  const Scores scores = evaluate(*saved.model, dataset.test, encoder, 1, {}).scores();
  EXPECT_EQ(scores.metrics.front().value, result.test.metrics.front().value);
}

TEST_F(Run, GoesOnWithTheSameExamplesOnly) {
  RunRequest asked = request(table("some"), "run");
  asked.recipe.train.updates = 2;
  run(asked);
  asked.resume = true;
  EXPECT_NO_THROW(run(asked));
  asked.recipe.data.path = table("others");
  EXPECT_PRED2(contains, error_of([&] { run(asked); }), "the examples have changed since the run started");
}

TEST_F(Run, HasItsFolderForItself) {
  RunRequest asked = request(table("some"), "run");
  fs::create_directories(asked.folder);
  const FolderLock other(asked.folder);
  EXPECT_PRED2(contains, error_of([&] { run(asked); }), "another process");
}

TEST_F(Run, FineTuningNamesTheNewHead) {
  run(request(table("two"), "first"));
  RunRequest asked = request(table("three", 3), "second");
  asked.recipe.train.init = folder_ / "first/model.safetensors";
  asked.recipe.train.updates = 1;
  ::testing::internal::CaptureStderr();
  run(asked);
  EXPECT_PRED2(contains, ::testing::internal::GetCapturedStderr(),
               "newly initialised: sentence_projection_layer.weight\n");
  // Nothing in common at all is a mistake.
  TransformerOptions transformer;
  transformer.match(asked.recipe.model.kind());
  transformer.width = 12;
  transformer.head = 5;
  transformer.heads = 2;
  asked.recipe.model.model = transformer;
  asked.folder = folder_ / "third";
  EXPECT_PRED2(contains, error_of([&] { run(asked); }), "no weight of this model");
}

// The same bits, whether examples are in memory or on disk.
TEST_F(Run, MemoryForExamplesDoesNotChangeTheRun) {
  ::setenv("MEGA_CACHE", (folder_ / "cache").c_str(), 1);
  RunRequest asked = request(table("all"), "held");
  run(asked);
  asked.recipe.data.memory = 0;
  asked.folder = folder_ / "read";
  run(asked);
  ::unsetenv("MEGA_CACHE");
  EXPECT_TRUE(fs::exists(folder_ / "cache/examples"));
  expect_same_run(folder_ / "held", folder_ / "read");
}

// Checksums that another version made in another way say nothing about the data.
TEST_F(Run, AnOlderChecksumIsPassedOver) {
  RunRequest asked = request(table("all"), "run");
  run(asked);
  const auto replace_checksum = [&](const std::string& by) {
    for (const auto& entry : fs::recursive_directory_iterator(asked.folder / "checkpoints")) {
      if (entry.path().filename() != "model.safetensors") continue;
      const Safetensors file = Safetensors::open(entry.path());
      Metadata metadata = file.metadata();
      ASSERT_TRUE(metadata.at(kDataChecksum).starts_with("h1-"));
      metadata[kDataChecksum] = by;
      write_with_checksum(entry.path(), file.tensors(), metadata);
    }
  };
  asked.resume = true;
  asked.recipe.train.updates += 1;
  replace_checksum("h1-0000000000000000");
  EXPECT_PRED2(contains, error_of([&] { run(asked); }), "the examples have changed since the run started");
  replace_checksum("0123456789abcdef000");
  ::testing::internal::CaptureStderr();
  run(asked);
  EXPECT_PRED2(contains, ::testing::internal::GetCapturedStderr(), "cannot be compared");
}

TEST_F(Run, AnEstimateLeavesNothingBehind) {
  RunRequest asked = request(table("all"), "run");
  asked.estimate_only = true;
  ::testing::internal::CaptureStderr();
  run(asked);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_PRED2(contains, said, "estimate");
  EXPECT_PRED2(contains, said, "12 updates");
  EXPECT_FALSE(fs::exists(asked.folder));
}

TEST_F(Run, TimeBecomesUpdates) {
  RunRequest asked = request(table("all"), "run");
  asked.recipe.train.updates = 1000000;
  asked.recipe.train.warmup = 500000;
  asked.recipe.train.time = "6s";
  const RunResult result = run(asked);
  EXPECT_LT(result.outcome.state.update, 100000);
  EXPECT_GE(result.outcome.state.update, 1);
  const TrainOptions kept = load_run_recipe(asked.folder).train;
  EXPECT_NEAR(static_cast<double>(kept.warmup), static_cast<double>(kept.updates) / 2, 1.0)
      << "its share is kept";
  const Period evaluate = parse_period(kept.evaluate);
  EXPECT_EQ(evaluate.unit, Period::Unit::seconds);
  EXPECT_LE(evaluate.count, 6.0 / 16) << "about ten evaluations in the time that is left";
  EXPECT_GE(evaluate.count, 0.6 / 16);
  EXPECT_EQ(nlohmann::json::parse(read_file(asked.folder / "result.json")).at("updates"),
            result.outcome.state.update);
}

TEST_F(Run, WhatTheUserSetIsKept) {
  RunRequest asked = request(table("all"), "run");
  asked.estimate_only = true;
  asked.recipe.train.time = "1h";
  asked.recipe.train.warmup = 7;
  asked.recipe.train.evaluate = "9u";
  asked.set = {"train.warmup", "train.evaluate"};
  ::testing::internal::CaptureStderr();
  run(asked);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::regex_search(said, std::regex("train.warmup +7\n"))) << said;
  EXPECT_TRUE(std::regex_search(said, std::regex("train.evaluate +9u\n"))) << said;
  EXPECT_TRUE(std::regex_search(said, std::regex("train.updates +[0-9]{3,}\n")))
      << "the values really used: " << said;
}

TEST_F(Run, EpochsBecomeUpdates) {
  RunRequest asked = request(table("all"), "run");
  asked.recipe.train.epochs = 1.5;
  const RunResult result = run(asked);
  const double updates = static_cast<double>(result.outcome.state.update);
  const double epochs = static_cast<double>(result.outcome.state.cursor.epoch);
  EXPECT_EQ(epochs, 1);
  EXPECT_GT(updates, 1);
  EXPECT_EQ(load_run_recipe(asked.folder).train.updates, result.outcome.state.update);
  asked.resume = true;
  EXPECT_EQ(run(asked).outcome.state.update, result.outcome.state.update);
}

TEST_F(Run, ARunWithoutAUsableCheckpointIsNotReplaced) {
  RunRequest asked = request(table("all"), "run");
  run(asked);
  const std::string model = read_file(asked.folder / "model.safetensors");
  for (const auto& entry : fs::directory_iterator(asked.folder / "checkpoints"))
    write_file(entry.path() / "training.safetensors", "damaged");
  asked.resume = true;
  const std::string error = error_of([&] { run(asked); });
  EXPECT_PRED2(contains, error, "there is no checkpoint to resume from");
  EXPECT_PRED2(contains, error, "training.safetensors");
  EXPECT_PRED2(contains, error, "--restart");
  fs::remove_all(asked.folder / "checkpoints");
  EXPECT_PRED2(contains, error_of([&] { run(asked); }), "--restart");
  EXPECT_EQ(read_file(asked.folder / "model.safetensors"), model);
  asked.resume = false;
  asked.restart = true;
  asked.recipe.train.updates = 2;
  write_file(asked.folder / "events.out.tfevents.1.host", "old");
  EXPECT_EQ(run(asked).outcome.state.update, 2);
  EXPECT_FALSE(fs::exists(asked.folder / "events.out.tfevents.1.host"));
  // Nothing was saved yet: nothing can be lost.
  RunRequest killed = request(table("all"), "killed");
  fs::create_directories(killed.folder);
  write_file(killed.folder / "recipe.json", "{}");
  killed.resume = true;
  EXPECT_NO_THROW(run(killed));
}

TEST_F(Run, TextsHaveALinearBaseline) {
  RunRequest asked = request(table("all"), "run");
  const RunResult result = run(asked);
  ASSERT_EQ(result.baselines.size(), 1u);
  EXPECT_EQ(result.baselines[0].name, "linear");
  ASSERT_FALSE(result.baselines[0].test.metrics.empty());
  EXPECT_GT(result.baselines[0].test.metrics.front().value, 0.5);
  const auto json = nlohmann::json::parse(read_file(asked.folder / "result.json"));
  EXPECT_EQ(json.at("baselines").at("linear").at("test").at("accuracy"),
            result.baselines[0].test.metrics.front().value);
  asked.folder = folder_ / "without";
  asked.recipe.train.baseline = false;
  EXPECT_TRUE(run(asked).baselines.empty());
  asked.folder = folder_ / "itself";
  asked.recipe.train.baseline = true;
  asked.recipe.model = *baseline_of(asked.recipe.model, "linear");
  EXPECT_TRUE(run(asked).baselines.empty());
}

TEST(Disk, ThatIsTooSmallIsFoundBeforeTheFirstStep) {
  const ScratchFolder folder;
  EXPECT_NO_THROW(require_disk(folder.path(), 1000));
  EXPECT_PRED2(contains, error_of([&] { require_disk(folder.path(), 1e18); }), "could never be saved");
}

TEST_F(Run, AnOldRunStaysWhereANewOneCouldNotBeSaved) {
  RunRequest asked = request(table("all"), "run");
  run(asked);
  const std::string model = read_file(asked.folder / "model.safetensors");
  asked.restart = true;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // the test's own output may be a file
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = error_of([&] { run(asked); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_PRED2(contains, error, "could never be saved");
  EXPECT_EQ(read_file(asked.folder / "model.safetensors"), model);
  EXPECT_FALSE(fs::is_empty(asked.folder / "checkpoints"));
}

TEST_F(Run, MistakesAreNamed) {
  RunRequest asked = request(table("all"), "run");
  const auto error = [](const RunRequest& bad) { return error_of([&] { run(bad); }); };
  RunRequest bad = asked;
  bad.recipe.data.path = folder_ / "nowhere.tsv";
  EXPECT_PRED2(contains, error(bad), "nowhere.tsv");
  bad = asked;
  bad.folder = asked.recipe.data.path + "/run";
  EXPECT_PRED2(contains, error(bad), "cannot create this folder");
  bad = asked;
  bad.recipe.train.init = folder_ / "nothing.safetensors";
  EXPECT_PRED2(contains, error(bad), "nothing.safetensors");
  bad = asked;
  bad.device = "abacus";
  EXPECT_PRED2(contains, error(bad), "--device: expected cpu, cuda or cuda:N, got \"abacus\"");
  bad = asked;
  classifier(bad.recipe).block.max_positions = 5;
  EXPECT_PRED2(contains, error(bad), "max_positions");
  EXPECT_FALSE(fs::exists(asked.folder));
  EXPECT_PRED2(contains, error_of([&] { load_run_recipe(folder_.path()); }), "not a run directory");
  write_file(folder_ / "recipe.json", R"({"train": {"updates": -1}})");
  EXPECT_PRED2(contains, error_of([&] { load_run_recipe(folder_.path()); }), "recipe.json");
}

}  // namespace
}  // namespace mega::train
