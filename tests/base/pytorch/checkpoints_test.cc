// Every tensor of checkpoints that the released programs wrote: shape, type, sum and sum of absolute values
// as these programs saw them.
#include <gtest/gtest.h>

#include <cmath>

#include "mega/base/pytorch/torch_file.h"
#include "tests/base/helpers.h"
#include "tests/checkpoints/folders.h"

namespace mega::testing {
namespace {

// The state dict: the `model` of a checkpoint, or all of a file that has nothing else.
const PickleValue& state_dict(const TorchFile& file) {
  const PickleValue* model = file.root().find("model");
  return model != nullptr ? *model : file.root();
}

std::string_view released_name(DType dtype) {
  return dtype == DType::F32 ? "float32" : dtype == DType::I64 ? "int64" : to_string(dtype);
}

void check_tensor(const TorchTensor& tensor, const nlohmann::json& expected) {
  EXPECT_EQ(tensor.shape(), expected.at("shape").get<std::vector<int64_t>>());
  if (expected.contains("dtype")) {
    EXPECT_EQ(released_name(tensor.dtype()), expected.at("dtype").get<std::string>());
  }
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  tensor.read(0, values);
  if (!expected.contains("sum")) return;  // uninitialised memory
  double sum = 0, absolute = 0;
  for (const double value : values) {
    sum += value;
    absolute += std::fabs(value);
  }
  const auto wanted = expected.at("abs").get<double>();
  EXPECT_NEAR(sum, expected.at("sum").get<double>(), 1e-9 * (1 + wanted));
  EXPECT_NEAR(absolute, wanted, 1e-9 * (1 + wanted));
}

void check_file(const TorchFile& file, const nlohmann::json& tensors) {
  const auto entries = state_dict(file).entries("model");
  EXPECT_EQ(entries.size(), tensors.size());
  for (const auto& [name, expected] : tensors.items()) {
    SCOPED_TRACE(name);
    check_tensor(state_dict(file).at(name, "model").tensor(name), expected);
  }
}

void check_archive(const CheckpointCase& archive, const std::filesystem::path& path) {
  const nlohmann::json& members = archive.description.at("members");
  const std::vector<std::string> names = TorchFile::members(path);
  EXPECT_EQ(names.size(), members.size());
  EXPECT_PRED2(contains, error_of([&] { TorchFile::open(path); }), names.at(0));
  for (const auto& [name, model] : members.items())
    check_file(TorchFile::open(path, name), checkpoint_case(model).description.at("tensors"));
}

class Checkpoints : public ::testing::TestWithParam<CheckpointCase> {};

TEST_P(Checkpoints, HaveTheTensorsThatWereSaved) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GetParam().folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".zip") {
      check_archive(GetParam(), entry.path());
    } else if (extension == ".pt" || extension == ".bin") {
      EXPECT_TRUE(TorchFile::members(entry.path()).empty());
      check_file(TorchFile::open(entry.path()), GetParam().description.at("tensors"));
    } else {
      continue;
    }
    ++files;
  }
  EXPECT_EQ(files, 1) << "no checkpoint in the folder";
}

INSTANTIATE_TEST_SUITE_P(Folders, Checkpoints, ::testing::ValuesIn(checkpoint_cases()),
                         [](const auto& one) { return test_name(one.param.name()); });

std::vector<float> floats(const PickleValue& value) {
  std::vector<float> values(static_cast<size_t>(value.tensor("view").elements()));
  value.tensor("view").read(0, values);
  return values;
}

// Strides, offsets and other types over one storage.
TEST(LegacyCheckpoint, HasViews) {
  const std::filesystem::path path = folder_of("MEGA_CHECKPOINTS_DIR") / "lm-tied-legacy" / "model.pt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "not in this folder";
  const TorchFile file = TorchFile::open(path);
  const PickleValue& views = file.root().at("extra_state", "file").at("views", "extra_state");
  EXPECT_EQ(floats(views.at("transposed", "views")),
            (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(floats(views.at("slice", "views")), (std::vector<float>{4, 6, 8}));
}

}  // namespace
}  // namespace mega::testing
