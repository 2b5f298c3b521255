#include "mega/config/files/average_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>

#include "mega/base/files/file.h"
#include "mega/config/files/model_file.h"
#include "mega/config/files/signature.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;
namespace fs = std::filesystem;

class AverageModels : public ::testing::Test {
 protected:
  // A tiny translator in which every weight is `value`, with a vocabulary.
  fs::path put(const std::string& name, float value, const std::string& vocabulary = "words",
               int64_t width = 4) const {
    TranslatorOptions model;
    model.vocabulary = 8;
    model.encoder_layers = model.decoder_layers = 1;
    model.block.width = model.block.values = model.block.hidden = width;
    model.block.shared = 4;
    model.block.ema.dimension = 2;
    model.block.max_positions = 4;
    std::deque<std::vector<float>> weights;
    std::vector<TensorView> tensors;
    for (const TensorInfo& tensor : model.tensors()) {
      if (!tensor.tied_to.empty()) continue;
      int64_t size = 1;
      for (const int64_t extent : tensor.shape) size *= extent;
      const auto& values = weights.emplace_back(static_cast<size_t>(size), value);
      tensors.push_back({tensor.name, DType::F32, tensor.shape, std::as_bytes(std::span(values))});
    }
    Signature signature;
    signature.input.input = TranslationInput();
    signature.vocabulary = vocabulary;
    for (TensorView& view : signature_tensors(signature)) tensors.push_back(std::move(view));
    Metadata metadata = signature_metadata(signature);
    metadata[kDataChecksum] = name;
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    write_model_file(path, {model}, std::move(tensors), metadata);
    return path;
  }

  std::string error(const std::vector<fs::path>& models) const {
    const std::string text = error_of([&] { average_models(models, folder_ / "mean"); });
    EXPECT_FALSE(fs::exists(folder_ / "mean"));
    return text;
  }

  const ScratchFolder folder_;
};

TEST_F(AverageModels, IsTheMeanOfEveryWeight) {
  const std::vector<fs::path> models = {put("a", 1.0f), put("b", 2.0f), put("c", 6.0f)};
  average_models(models, folder_ / "mean");
  const ModelFile mean = ModelFile::open(folder_ / "mean");
  check_tensors(mean.options, mean.tensors);
  int64_t weights = 0;
  for (const TensorView& tensor : mean.tensors.tensors()) {
    if (is_signature_tensor(tensor.name)) continue;
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    for (const float value : values) EXPECT_EQ(value, 3.0f) << tensor.name;
    weights += tensor.elements();
  }
  EXPECT_GT(weights, 100);
  EXPECT_EQ(read_signature(mean.tensors, "mean").vocabulary, "words");
  EXPECT_EQ(mean.tensors.metadata().at(kDataChecksum), "c") << "the last one's metadata";
}

// In single precision the small one would be lost in the sum.
TEST_F(AverageModels, IsTakenInDoublePrecision) {
  const std::vector<fs::path> models = {put("a", 1e8f), put("b", 1.0f), put("c", -1e8f), put("d", 3.0f)};
  average_models(models, folder_ / "mean");
  const ModelFile mean = ModelFile::open(folder_ / "mean");
  float first = 0.0f;
  std::memcpy(&first, mean.tensors.at("encoder.embed_tokens.weight").data.data(), sizeof first);
  EXPECT_EQ(first, 1.0f);
}

TEST_F(AverageModels, MayReplaceOneOfThem) {
  const std::vector<fs::path> models = {put("a", 1.0f), put("b", 2.0f)};
  average_models(models, models.back());
  EXPECT_NO_THROW(ModelFile::open(models.back()).verify());
}

TEST_F(AverageModels, RefusesWhatDoesNotFit) {
  const fs::path good = put("good", 1.0f);
  EXPECT_PRED2(contains, error({}), "no models");
  EXPECT_PRED2(contains, error({good, put("wide", 1.0f, "words", 8)}), "other model options");
  EXPECT_PRED2(contains, error({good, put("other", 1.0f, "other")}), "trained on different data");
  EXPECT_PRED2(contains, error({good, put("longer", 1.0f, "more words")}), "vocabulary");
  EXPECT_PRED2(contains, error({good, put("nan", std::nanf(""))}), "not finite");
  EXPECT_PRED2(contains, error({good, folder_ / "none"}), "none");
  write_file(folder_ / "text", "no model");
  EXPECT_PRED2(contains, error({good, folder_ / "text"}), "text");
}

TEST_F(AverageModels, RefusesQuantisedWeights) {
  const ModelFile good = ModelFile::open(put("good", 1.0f));
  std::vector<TensorView> tensors = good.tensors.tensors();
  const std::vector<uint16_t> halves(32);
  for (TensorView& tensor : tensors)
    if (tensor.name == "encoder.embed_tokens.weight") {
      tensor.dtype = DType::BF16;
      tensor.data = std::as_bytes(std::span(halves));
    }
  write_with_checksum(folder_ / "half", tensors, good.tensors.metadata());
  EXPECT_PRED2(contains, error({folder_ / "half", folder_ / "half"}), "before they are quantised");
}

TEST_F(AverageModels, TheNewestCheckpointsOfARun) {
  EXPECT_PRED2(contains, error_of([&] { checkpoint_models(folder_.path(), 0); }), "no checkpoints");
  for (const char* name : {"00000900", "00001000", "00000100", "00000200.partial"})
    put("checkpoints/" + std::string(name) + "/model.safetensors", 1.0f);
  fs::create_directories(folder_ / "checkpoints/00002000");  // without a model
  const auto named = [&](int64_t count) {
    std::vector<std::string> names;
    for (const fs::path& path : checkpoint_models(folder_.path(), count))
      names.push_back(path.parent_path().filename().string());
    return names;
  };
  EXPECT_EQ(named(0), (std::vector<std::string>{"00000100", "00000900", "00001000"}));
  EXPECT_EQ(named(2), (std::vector<std::string>{"00000900", "00001000"}));
  EXPECT_PRED2(contains, error_of([&] { named(4); }), "has 3 checkpoints, not 4: train.keep");
}

}  // namespace
}  // namespace mega
