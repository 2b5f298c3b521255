#include "mega/config/parameter_count.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/base/helpers.h"

namespace mega {
namespace {

const std::vector<std::byte> kBytes(4096);

TensorView tensor(std::string name, DType type, std::vector<int64_t> shape) {
  int64_t bytes = element_size(type);
  for (const int64_t size : shape) bytes *= size;
  return {std::move(name), type, std::move(shape), std::span(kBytes).first(static_cast<size_t>(bytes))};
}

LanguageModelOptions small() {
  LanguageModelOptions options;
  options.vocabulary = 10;
  options.layers = 1;
  options.block.width = 4;
  options.block.values = 8;
  options.block.shared = 2;
  options.block.hidden = 2;
  options.block.chunk = 4;
  options.block.ema.dimension = 2;
  options.block.norm = NormKind::batch;
  return options;
}

TEST(ParameterCount, CountsWhatIsTrained) {
  const ParameterCount count = count_parameters({small()});
  EXPECT_EQ(count.parts, (std::map<std::string, int64_t>{{"embedding", 40},
                                                         {"ema", 4 * (4 * 2) + 4},
                                                         {"positions", 7},
                                                         {"attention", 8 * 5 + 18 * 5 + 4 * 9 + 2 * 2 * 2},
                                                         {"norms", 2 * 8},
                                                         {"feed-forward", 2 * 5 + 4 * 3}}));
  EXPECT_EQ(count.total, 40 + 36 + 7 + 174 + 16 + 22);
}

TEST(ParameterCount, TiedTensorsCountOnce) {
  LanguageModelOptions untied = small();
  untied.tie_output = false;
  EXPECT_EQ(count_parameters({untied}).total - count_parameters({small()}).total, 40);
  EXPECT_EQ(count_parameters({untied}).parts.at("head"), 40);
}

// A part of a quantised model.
class ParameterCountOfAFile : public ::testing::Test {
 protected:
  void SetUp() override {
    write_model_file(folder_ / "model", {small()},
                     {tensor("decoder.embed_tokens.weight", DType::I8, {10, 4}),
                      tensor("decoder.embed_tokens.weight_scale", DType::F32, {10}),
                      tensor("decoder.layers.0.mega_layer.v_proj.weight", DType::BF16, {8, 4}),
                      tensor("decoder.layers.0.mega_layer.norm.norm.running_mean", DType::F32, {4}),
                      tensor("decoder.layers.0.mega_layer.norm.norm.weight", DType::F32, {4}),
                      tensor("signature.mean", DType::F32, {5}), tensor("vocabulary", DType::U8, {100})});
    file_ = ModelFile::open(folder_ / "model");
  }

  testing::ScratchFolder folder_;
  ModelFile file_;
};

TEST_F(ParameterCountOfAFile, BytesAreAllThatTheFileHas) {
  const auto parts = stored_bytes(file_);
  using Types = std::map<DType, int64_t>;
  EXPECT_EQ(parts.at("embedding"), (Types{{DType::I8, 40}, {DType::F32, 40}}));
  EXPECT_EQ(parts.at("attention"), (Types{{DType::BF16, 64}}));
  EXPECT_EQ(parts.at("norms"), (Types{{DType::F32, 32}}));
  EXPECT_EQ(parts.at("input"), (Types{{DType::F32, 20}, {DType::U8, 100}}));
}

}  // namespace
}  // namespace mega
