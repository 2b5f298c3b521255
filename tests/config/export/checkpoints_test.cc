// Models that leave again: imported and exported, they are the files that they were.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "mega/base/files/file.h"
#include "mega/base/options/options_io.h"
#include "mega/config/export/export_model.h"
#include "mega/config/files/model_file.h"
#include "mega/config/import/import_checkpoint.h"
#include "tests/base/helpers.h"
#include "tests/checkpoints/imported.h"

namespace mega::testing {
namespace {

namespace fs = std::filesystem;
using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes shapes_of(const PickleValue& model) {
  Shapes shapes;
  for (const PickleEntry& entry : model.entries("model"))
    shapes[std::string(entry.key.text("name"))] = entry.value.tensor("tensor").shape();
  return shapes;
}

std::set<std::string> keys_of(const PickleValue& table) {
  std::set<std::string> keys;
  for (const PickleEntry& entry : table.entries("table")) keys.emplace(entry.key.text("key"));
  return keys;
}

// The names of storages, by tensor: tied tensors have one.
std::map<std::string, std::set<std::string>> tied_of(const PickleValue& model) {
  std::map<std::string, std::set<std::string>> names;
  for (const PickleEntry& entry : model.entries("model"))
    names[std::string(entry.value.tensor("tensor").storage().key)].emplace(entry.key.text("name"));
  std::erase_if(names, [](const auto& storage) { return storage.second.size() == 1; });
  return names;
}

class ExportedModel : public ::testing::TestWithParam<CheckpointCase> {
 protected:
  // The file of the imported model again, after it was exported.
  std::string again(const fs::path& exported) {
    DataFiles files;
    for (const std::string& dictionary : model_.dictionaries) files.dictionaries.emplace_back(dictionary);
    import_checkpoint({exported, "", files}).write(folder_ / "again.safetensors");
    return read_file(folder_ / "again.safetensors");
  }

  void check_fairseq() {
    const fs::path exported = folder_ / "exported.pt";
    export_model(file_, ExportFormat::fairseq, exported);
    EXPECT_TRUE(again(exported) == read_file(path_)) << "other bits";
    const TorchFile before = TorchFile::open(GetParam().folder / "model.pt"),
                    after = TorchFile::open(exported);
    EXPECT_EQ(shapes_of(before.root().at("model", "")), shapes_of(after.root().at("model", "")));
    EXPECT_EQ(keys_of(before.root().at("args", "")), keys_of(after.root().at("args", "")));
    std::set<std::string> keys = keys_of(before.root());
    keys.erase("last_optimizer_state");
    EXPECT_EQ(keys, keys_of(after.root()));
    size_t tied = 0;
    for (const TensorInfo& info : file_.options.kind().tensors()) tied += info.tied_to.empty() ? 0 : 1;
    EXPECT_EQ(tied_of(after.root().at("model", "")).empty(), tied == 0);
  }

  // Their own buffers without meaning, and types that were added to the embeddings, are not there.
  void check_huggingface() {
    const fs::path exported = folder_ / "exported";
    export_model(file_, ExportFormat::huggingface, exported);
    EXPECT_TRUE(again(exported) == read_file(path_)) << "other bits";
    Shapes before, after;
    const Safetensors original = Safetensors::open(GetParam().folder / "model.safetensors");
    const Safetensors left = Safetensors::open(exported / "model.safetensors");
    for (const TensorView& tensor : original.tensors())
      if (!tensor.name.ends_with("_float_tensor") && !contains(tensor.name, "token_type"))
        before[tensor.name] = tensor.shape;
    for (const TensorView& tensor : left.tensors()) after[tensor.name] = tensor.shape;
    // A bias is as long as its chunk; there it is as long as the longest text.
    for (auto& [name, shape] : before)
      if (name.ends_with("rel_pos_bias.rel_pos_bias") && after.contains(name)) shape = after.at(name);
    EXPECT_EQ(before, after);
    EXPECT_PRED2(contains,
                 error_of([&] { export_model(file_, ExportFormat::fairseq, folder_ / "other.pt"); }),
                 "released");
    EXPECT_FALSE(fs::exists(folder_ / "other.pt"));
  }

  ScratchFolder folder_;
  ImportedModel model_ = import_checkpoint({checkpoint_of(GetParam()), ""});
  fs::path path_ = write();
  ModelFile file_ = ModelFile::open(path_);

 private:
  fs::path write() {
    model_.write(folder_ / "model.safetensors");
    return folder_ / "model.safetensors";
  }
};

TEST_P(ExportedModel, IsTheSameWhenItComesBack) {
  if (GetParam().description.at("family") == "huggingface") return check_huggingface();
  if (model_.options.kind().task() != ModelTask::image) return check_fairseq();
  EXPECT_PRED2(contains, error_of([&] { export_model(file_, ExportFormat::fairseq, folder_ / "other.pt"); }),
               "no models of kind image");
}

TEST_P(ExportedModel, LeavesItsWeights) {
  const fs::path exported = folder_ / "weights.safetensors";
  export_model(file_, ExportFormat::safetensors, exported);
  const Safetensors weights = Safetensors::open(exported);
  size_t count = 0;
  for (const TensorInfo& info : file_.options.kind().tensors()) {
    if (!info.tied_to.empty()) continue;
    ++count;
    const TensorView &before = file_.tensors.at(info.name), &after = weights.at(info.name);
    EXPECT_EQ(before.shape, after.shape);
    EXPECT_TRUE(std::equal(before.data.begin(), before.data.end(), after.data.begin(), after.data.end()));
  }
  EXPECT_EQ(weights.tensors().size(), count);
}

INSTANTIATE_TEST_SUITE_P(Folders, ExportedModel, ::testing::ValuesIn(importable_cases()),
                         [](const auto& one) { return test_name(one.param.name()); });

// What the program cannot have is named, and nothing is left behind.
TEST(ExportModel, SaysWhatTheOtherProgramLacks) {
  const ScratchFolder folder;
  const CheckpointCase one = checkpoint_case("lm-tied");
  ImportedModel model = import_checkpoint({one.folder / "model.pt", ""});
  std::get<LanguageModelOptions>(model.options.model).block.ema.scaled = false;
  model.write(folder / "model.safetensors");
  const ModelFile file = ModelFile::open(folder / "model.safetensors");
  EXPECT_PRED2(contains, error_of([&] { export_model(file, ExportFormat::fairseq, folder / "there.pt"); }),
               "model.block.ema.scaled = false");
  EXPECT_FALSE(fs::exists(folder / "there.pt"));
  EXPECT_PRED2(contains, error_of([&] { export_model(file, ExportFormat::huggingface, folder / "there"); }),
               "no norm after the last block");
  EXPECT_FALSE(fs::exists(folder / "there"));
  size_t left = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++left;
  EXPECT_EQ(left, 1U);
}

}  // namespace
}  // namespace mega::testing
