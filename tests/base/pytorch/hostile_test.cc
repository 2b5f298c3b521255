// Files made to break a reader of checkpoints: none is worse than an Error, quickly and in little memory.
// What can only be told from what a model should be, mega/config/import refuses.
#include <gtest/gtest.h>

#include "mega/base/files/safetensors.h"
#include "mega/base/pytorch/torch_file.h"
#include "tests/base/helpers.h"
#include "tests/checkpoints/folders.h"

namespace mega::testing {
namespace {

// A model that is complete as a file, but not as a model.
bool opens_as_a_file(const HostileFile& file) {
  const std::string name = file.name();
  return file.must_load || name.starts_with("args-") || name.starts_with("model-") ||
         name == "code-build-dunder.pt";
}

class Hostile : public ::testing::TestWithParam<HostileFile> {};

TEST_P(Hostile, IsReadOrRefused) {
  const auto open = [&] {
    if (GetParam().path.extension() == ".safetensors")
      Safetensors::open(GetParam().path);
    else
      TorchFile::open(GetParam().path);
  };
  if (opens_as_a_file(GetParam())) {
    EXPECT_NO_THROW(open()) << GetParam().what;
  } else {
    const std::string error = error_of(open);
    EXPECT_PRED2(contains, error, GetParam().name()) << GetParam().what;
    RecordProperty("error", error);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Hostile, ::testing::ValuesIn(hostile_files()),
                         [](const auto& one) { return test_name(one.param.name()); });

}  // namespace
}  // namespace mega::testing
