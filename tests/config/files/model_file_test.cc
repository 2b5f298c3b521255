#include "mega/config/files/model_file.h"

#include <gtest/gtest.h>

#include <deque>

#include "mega/base/files/file.h"
#include "mega/base/options/options_io.h"
#include "mega/base/version.h"
#include "mega/config/recipe/presets.h"
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

TEST_F(ModelFileTest, EveryChangedByteIsNoticed) {
  write_model_file(folder_ / "file", {}, tensors(), {{"note", "of the writer"}});
  const std::string good = read_file(folder_ / "file");
  EXPECT_TRUE(ModelFile::open(folder_ / "file").has_checksum());
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char bit : {'\x01', '\x20'}) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ bit);
      try {
        // The only change that passes makes another key of the checksum's own, and leaves all else as it was.
        EXPECT_FALSE(ModelFile::parse(std::as_bytes(std::span(changed)), "changed").has_checksum()) << i;
      } catch (const Error&) {
      }
    }
  }
  std::string changed = good;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  EXPECT_PRED2(contains, error_of([&] { ModelFile::parse(std::as_bytes(std::span(changed)), "changed"); }),
               "changed: the checksum does not match: the file is damaged");
}

TEST_F(ModelFileTest, FilesWithoutAChecksumAreRead) {
  write_model_file(folder_ / "file", {}, tensors());
  Metadata metadata = ModelFile::open(folder_ / "file").tensors.metadata();
  ASSERT_EQ(metadata.erase("checksum"), 1u);
  write_safetensors(folder_ / "file", tensors(), metadata);
  const ModelFile file = ModelFile::open(folder_ / "file");
  EXPECT_FALSE(file.has_checksum());
  EXPECT_NO_THROW(file.verify());
}

// As of a large file, whose tensors are not read when it is opened.
TEST_F(ModelFileTest, TheHeadHasAChecksumOfItsOwn) {
  write_model_file(folder_ / "file", {}, tensors());
  Metadata metadata = ModelFile::open(folder_ / "file").tensors.metadata();
  std::string& sum = metadata.at("checksum");
  ASSERT_EQ(sum.size(), 33u);
  sum[20] = sum[20] == '0' ? '1' : '0';
  const auto error = [&] {
    write_safetensors(folder_ / "file", tensors(), metadata);
    return error_of([&] { ModelFile::open(folder_ / "file"); });
  };
  EXPECT_PRED2(contains, error(), "the file is damaged; copy");
  sum[3] = sum[3] == '0' ? '1' : '0';
  EXPECT_PRED2(contains, error(), "was changed by another program");
}

TEST_F(ModelFileTest, SurplusTensorsAreNamed) {
  const ModelOptions options;
  std::vector<TensorView> all;
  std::deque<std::vector<float>> memory;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape, DType dtype) {
    int64_t bytes = element_size(dtype);
    for (const int64_t size : shape) bytes *= size;
    const auto& data = memory.emplace_back(static_cast<size_t>((bytes + 3) / 4));
    all.push_back({name, dtype, shape, std::as_bytes(std::span(data)).first(static_cast<size_t>(bytes))});
  };
  for (const TensorInfo& tensor : options.kind().tensors()) add(tensor.name, tensor.shape, tensor.dtype);
  const std::string matrix = "sentence_projection_layer.weight";
  const auto check = [&] {
    write_model_file(folder_ / "file", options, all);
    const ModelFile file = ModelFile::open(folder_ / "file");
    check_tensors(file.options, file.tensors);
  };
  EXPECT_NO_THROW(check());
  add(scale_name(matrix), {2}, DType::F32);
  add("signature.mean", {1}, DType::F32);
  add("vocabulary", {1}, DType::U8);
  EXPECT_NO_THROW(check()) << "scales, and what a signature has";
  for (const char* name : {"classifier.0.0.bias_scale", "a\x1b", "c", "d"}) add(name, {1}, DType::F32);
  const std::string error = error_of(check);
  EXPECT_PRED2(contains, error, "tensors that a model of these options does not have: ");
  EXPECT_PRED2(contains, error, "\"a\\x1b\"");
  EXPECT_PRED2(contains, error, " and 1 more");
}

}  // namespace
}  // namespace mega
