#include "mega/train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "mega/config/files/model_file.h"
#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests
namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"model.safetensors", "training.safetensors"};

// A run with checkpoints after 3, 6 and 9 updates.
class Damaged : public ::testing::Test {
 protected:
  void SetUp() override {
    Recipe recipe = letters_recipe();
    recipe.train.updates = 9;
    recipe.train.keep = 3;
    recipe.train.average = 0.9;
    train_letters(recipe, run());
  }
  fs::path run() const { return folder_ / "run"; }
  fs::path newest() const { return run() / "checkpoints" / "00000009"; }

  // Update of the checkpoint that is found, or -1; messages in `said_`.
  int64_t found() {
    said_.clear();
    const auto checkpoint =
        newest_checkpoint(run(), [this](const std::string& line) { said_ += line + "\n"; });
    return checkpoint ? checkpoint->state.update : -1;
  }

  ScratchFolder folder_;
  std::string said_;
};

TEST_F(Damaged, NothingIsWrongWithAWholeOne) {
  EXPECT_EQ(found(), 9);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(newest_checkpoint(folder_ / "elsewhere", nullptr), std::nullopt);
}

TEST_F(Damaged, ATruncatedFileFallsBack) {
  for (const char* name : kFiles) {
    const std::string whole = read_file(newest() / name);
    for (const double share : {0.0, 0.1, 0.5, 0.999}) {
      write_file(newest() / name,
                 whole.substr(0, static_cast<size_t>(share * static_cast<double>(whole.size()))));
      EXPECT_EQ(found(), 6) << name << " " << share;
      EXPECT_PRED2(contains, said_, "00000009");
    }
    write_file(newest() / name, whole);
  }
  EXPECT_EQ(found(), 9);
}

TEST_F(Damaged, AFlippedByteIsFoundOrDoesNotMatter) {
  const Checkpoint whole = last_checkpoint(run());
  const auto model = contents(whole.model), training = contents(whole.training);
  int64_t noticed = 0, flips = 0;
  for (const char* name : kFiles) {
    const std::string bytes = read_file(newest() / name);
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 150, ++flips) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ 1);
      write_file(newest() / name, flipped);
      const auto checkpoint = newest_checkpoint(run(), [&](const std::string&) { ++noticed; });
      ASSERT_TRUE(checkpoint.has_value());
      if (checkpoint->state.update == 6) continue;
      EXPECT_EQ(checkpoint->state.update, 9);
      EXPECT_EQ(checkpoint->state.best_update, whole.state.best_update);
      EXPECT_TRUE(contents(checkpoint->model) == model) << name << " " << at;
      EXPECT_TRUE(contents(checkpoint->training) == training) << name << " " << at;
    }
    write_file(newest() / name, bytes);
  }
  EXPECT_GT(noticed, flips / 2);
}

TEST_F(Damaged, AChangedProgressionIsFound) {
  std::string bytes = read_file(newest() / "training.safetensors");
  const std::string key = R"(\"batch\":)";
  const size_t at = bytes.find(key);
  ASSERT_NE(at, std::string::npos);
  bytes[at + key.size()] = bytes[at + key.size()] == '1' ? '2' : '1';
  write_file(newest() / "training.safetensors", bytes);
  EXPECT_EQ(found(), 6);
  EXPECT_PRED2(contains, said_, "checksum");
}

TEST_F(Damaged, MissingFilesAndHalfWrittenFoldersFallBack) {
  fs::remove(newest() / "training.safetensors");
  EXPECT_EQ(found(), 6);
  fs::remove(newest() / "model.safetensors");
  EXPECT_EQ(found(), 6) << "an empty folder";
  fs::create_directories(run() / "checkpoints" / ".00000012.1");
  fs::create_directories(run() / "checkpoints" / "not a number");
  write_file(run() / "checkpoints" / "00000013", "a file");
  EXPECT_EQ(found(), 6);
  // Files of two checkpoints do not make one.
  for (const char* name : kFiles)
    fs::copy(run() / "checkpoints" / (name == kFiles[0] ? "00000003" : "00000006") / name, newest() / name);
  EXPECT_EQ(found(), 6);
  EXPECT_PRED2(contains, said_, "checksum");
  // A model file is no training state.
  fs::copy(newest() / kFiles[0], newest() / kFiles[1], fs::copy_options::overwrite_existing);
  EXPECT_EQ(found(), 6);
  EXPECT_PRED2(contains, said_, "not part of a checkpoint");
}

// As version 0.1 wrote them: another checksum, under another key.
TEST(Checkpoint, OfVersion01IsReadAndVerified) {
  const ScratchFolder folder;
  const fs::path checkpoint = folder / "checkpoints" / "00000005";
  fs::create_directories(checkpoint);
  const std::vector<float> weight = {1.0f, -2.5f, 3.25f};
  const std::string moment = "\1\2\3\4\5\6\7\x08\x09";
  const Metadata metadata = {
      {"progression",
       R"({"update":5,"epoch":1,"batch":2,"seconds":0.5,"best":[["accuracy",0.75,0.125,true]],)"
       R"("higher_is_better":true,"best_update":4,"evaluations_since_best":1,"evaluated_update":4,)"
       R"("evaluation_due":false,"threads":2})"},
      {"checksum", "10596259271978715972"}};
  const auto found = [&](const std::vector<float>& values, const Metadata& with) {
    write_model_file(checkpoint / kFiles[0], {},
                     {{"weight", DType::F32, {3}, std::as_bytes(std::span(values))}});
    write_safetensors(checkpoint / kFiles[1], {{"moment", DType::U8, {9}, std::as_bytes(std::span(moment))}},
                      with);
    std::string said;
    const auto read = newest_checkpoint(folder / "", [&](const std::string& line) { said += line; });
    return read ? std::to_string(read->state.update) : said;
  };
  EXPECT_EQ(found(weight, metadata), "5");
  EXPECT_PRED2(contains, found({1.0f, -2.5f, 3.5f}, metadata), "the checksum does not match");
  Metadata other = metadata;
  other["checksum"] = "10596259271978715973";
  EXPECT_PRED2(contains, found(weight, other), "the checksum does not match");
  other.erase("checksum");
  EXPECT_PRED2(contains, found(weight, other), "not part of a checkpoint");
}

TEST_F(Damaged, NothingWholeMeansABeginning) {
  for (const char* name : {"00000003", "00000006", "00000009"})
    write_file(run() / "checkpoints" / name / "model.safetensors", "{}");
  EXPECT_EQ(found(), -1);
  Recipe recipe = letters_recipe();
  recipe.train.updates = 4;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(train_letters(recipe, run(), true).state.update, 4);
  EXPECT_PRED2(contains, ::testing::internal::GetCapturedStderr(), "starting from the beginning");
}

// With keep = 1, the damaged one of a later update must not count as the one to keep.
TEST_F(Damaged, ANewCheckpointOutlivesADamagedLaterOne) {
  write_file(newest() / "model.safetensors", "{}");
  Recipe recipe = letters_recipe();
  recipe.train.updates = 7;
  recipe.train.keep = 1;
  recipe.train.average = 0.9;
  ::testing::internal::CaptureStderr();
  train_letters(recipe, run(), true);
  EXPECT_PRED2(contains, ::testing::internal::GetCapturedStderr(), "skipped a checkpoint");
  EXPECT_EQ(found(), 7);
  EXPECT_EQ(said_, "");
  EXPECT_FALSE(fs::exists(newest()));
}

// Files may not grow beyond so many bytes: what a full disk looks like.
void limit_files(rlim_t bytes) {
  struct rlimit limit {};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

// Runs where the disk is full during the updates from `first` to `last`; ends the process with what was
// found.
[[noreturn]] void train_on_a_full_disk(const fs::path& run, int64_t first, int64_t last) {
  std::signal(SIGXFSZ, SIG_IGN);
  const auto update_on_disk = [&] {
    const auto checkpoint = newest_checkpoint(run, [](const std::string&) { std::_Exit(2); });
    return checkpoint ? checkpoint->state.update : -1;
  };
  bool previous_is_whole = false;
  int status = 0;
  try {
    train_letters(letters_recipe(), run, false, [&](HookedTask& task) {
      task.script = {0.6, 0.7, 0.8};
      task.before_update = [&](int64_t now) {
        if (now == first) limit_files(5000);  // a checkpoint and a model are larger, messages are not
        if (now == last) previous_is_whole = update_on_disk() == 3;
        if (now == last) limit_files(RLIM_INFINITY);
      };
    });
  } catch (const Error& error) {
    std::fprintf(stderr, "Error: %s\n", error.what());
    previous_is_whole = update_on_disk() == 3;
    status = 1;
  }
  if (!previous_is_whole) status = 3;
  if (status == 0 && last_checkpoint(run).state.best_update != 12) status = 4;
  std::_Exit(status);
}

TEST(FullDisk, TrainingGoesOnAndSavesWhenThereIsRoomAgain) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const ScratchFolder folder;
  EXPECT_EXIT(train_on_a_full_disk(folder / "run", 5, 8), ::testing::ExitedWithCode(0),
              "a checkpoint could not be saved, training continues.*File too large");
}

TEST(FullDisk, TheEndSaysThatNothingWasSaved) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const ScratchFolder folder;
  EXPECT_EXIT(train_on_a_full_disk(folder / "run", 5, 1000), ::testing::ExitedWithCode(1),
              "Error: the last checkpoint could not be saved");
}

}  // namespace
}  // namespace mega::train
