#include "mega/config/model_file.h"

#include <gtest/gtest.h>

#include "mega/base/options_io.h"
#include "mega/base/version.h"
#include "mega/config/presets.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

class ModelFileTest : public ::testing::Test {
 protected:
  std::vector<TensorView> tensors() const {
    return {{"weight", DType::F32, {2, 2}, std::as_bytes(std::span(values_))}};
  }

  // The error of opening a file with this metadata.
  std::string error_with(const Metadata& metadata) const {
    write_safetensors(folder_ / "file", tensors(), metadata);
    return error_of([&] { ModelFile::open(folder_ / "file"); });
  }

  const ScratchFolder folder_;
  const std::vector<float> values_ = {1, 2, 3, 4};
};

TEST_F(ModelFileTest, CarriesEveryPreset) {
  for (const std::string& name : preset_names()) {
    SCOPED_TRACE(name);
    const ModelOptions options = load_preset(name).model;
    write_model_file(folder_ / "file", options, tensors(), {{kDataChecksum, "0123"}});
    const ModelFile file = ModelFile::open(folder_ / "file");
    EXPECT_EQ(options_to_json(file.options), options_to_json(options));
    EXPECT_EQ(file.mega_version, version());
    EXPECT_EQ(file.tensors.metadata().at(kDataChecksum), "0123");
    EXPECT_EQ(file.tensors.at("weight").elements(), 4);
  }
}

TEST_F(ModelFileTest, RefusesOtherSafetensors) {
  EXPECT_PRED2(contains, error_with({}), "not a model of mega: its metadata has no \"format\"");
  EXPECT_PRED2(contains, error_with({{"format", "pt"}}),
               "format: expected a whole number from 1, got \"pt\"");
  EXPECT_PRED2(contains, error_with({{"format", "1"}}), "no \"options\"");
}

TEST_F(ModelFileTest, ANewerFormatIsNamed) {
  const std::string error = error_with({{"format", "7"}, {"mega_version", "9.1.0"}, {"options", "?"}});
  EXPECT_PRED2(contains, error, "format 7, written by mega \"9.1.0\", is newer than the 1");
}

TEST_F(ModelFileTest, AnUnknownOptionOfANewerVersionNamesIt) {
  const std::string options = R"({"kind": "classifier", "novelty": 1})";
  EXPECT_PRED2(contains, error_with({{"format", "1"}, {"mega_version", "9.1.0"}, {"options", options}}),
               "written by mega 9.1.0, newer than this");
  const std::string error = error_with({{"format", "1"}, {"mega_version", version()}, {"options", options}});
  EXPECT_PRED2(contains, error, "unknown option \"novelty\"");
  EXPECT_FALSE(contains(error, "newer"));
}

TEST_F(ModelFileTest, RefusesBadOptions) {
  const auto error = [&](const char* options) {
    return error_with({{"format", "1"}, {"mega_version", "0.1.0"}, {"options", options}});
  };
  EXPECT_PRED2(contains, error("{"), "options: not valid JSON");
  EXPECT_PRED2(contains, error("[]"), "expected a group of options, got a list");
  EXPECT_PRED2(contains, error(R"({"layers": 1, "layers": 2})"), "key \"layers\" appears twice");
  EXPECT_PRED2(contains, error(R"({"layers": 1e15})"), "layers: expected a whole number, 1 to 1000");
  EXPECT_PRED2(contains, error(R"({"kind": "poet"})"), "kind: expected one of classifier, matcher");
  EXPECT_PRED2(contains, error(R"({"block": {"chunk": 0}})"), "chunk: 0 is no length");
}

TEST_F(ModelFileTest, WritesOnlyValidModels) {
  ClassifierOptions classifier;
  classifier.layers = 0;
  EXPECT_PRED2(contains, error_of([&] { write_model_file(folder_ / "file", {classifier}, tensors()); }),
               "model: layers: expected");
  EXPECT_PRED2(contains, error_of([&] {
                 write_model_file(folder_ / "file", {}, tensors(), {{"options", "mine"}});
               }),
               "is written by the format itself");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "file"));
}

}  // namespace
}  // namespace mega
