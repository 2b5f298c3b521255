#include "mega/config/parameter_count.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/base/helpers.h"

namespace mega {
namespace {

const std::vector<std::byte> kBytes(1024);

TensorView tensor(std::string name, DType type, std::vector<int64_t> shape) {
  int64_t bytes = element_size(type);
  for (const int64_t size : shape) bytes *= size;
  return {std::move(name), type, std::move(shape), std::span(kBytes).first(static_cast<size_t>(bytes))};
}

class ParameterCountOfAFile : public ::testing::Test {
 protected:
  void SetUp() override {
    write_safetensors(folder_ / "model",
                      {tensor("decoder.embed_tokens.weight", DType::I8, {10, 4}),
                       tensor("decoder.embed_tokens.weight_scale", DType::F32, {10}),
                       tensor("decoder.layers.0.mega_layer.move.delta", DType::F32, {4, 2, 1}),
                       tensor("decoder.layers.0.mega_layer.rel_pos_bias.slope", DType::F32, {1}),
                       tensor("decoder.layers.0.mega_layer.rel_pos_bias.rel_pos_bias", DType::F32, {7}),
                       tensor("decoder.layers.0.mega_layer.v_proj.weight", DType::BF16, {8, 4}),
                       tensor("decoder.layers.0.mega_layer.norm.norm.running_mean", DType::F32, {4}),
                       tensor("decoder.layers.0.mega_layer.norm.norm.weight", DType::F32, {4}),
                       tensor("decoder.layers.0.nffn.fc1.weight", DType::F32, {2, 4}),
                       tensor("output.weight", DType::F32, {3, 4}), tensor("signature.mean", DType::F32, {5}),
                       tensor("vocabulary", DType::U8, {100})},
                      {});
    file_ = Safetensors::open(folder_ / "model");
  }

  testing::ScratchFolder folder_;
  Safetensors file_;
};

TEST_F(ParameterCountOfAFile, CountsWhatIsTrained) {
  const ParameterCount count = count_parameters(file_);
  EXPECT_EQ(count.parts, (std::map<std::string, int64_t>{{"embedding", 40},
                                                         {"ema", 8},
                                                         {"positions", 7},
                                                         {"attention", 32},
                                                         {"norms", 4},
                                                         {"feed-forward", 8},
                                                         {"head", 12}}));
  EXPECT_EQ(count.total, 40 + 8 + 7 + 32 + 4 + 8 + 12);
}

TEST_F(ParameterCountOfAFile, BytesAreAllThatTheFileHas) {
  const auto parts = stored_bytes(file_);
  using Types = std::map<DType, int64_t>;
  EXPECT_EQ(parts.at("embedding"), (Types{{DType::I8, 40}, {DType::F32, 40}}));
  EXPECT_EQ(parts.at("attention"), (Types{{DType::BF16, 64}}));
  EXPECT_EQ(parts.at("norms"), (Types{{DType::F32, 32}}));
  EXPECT_EQ(parts.at("input"), (Types{{DType::F32, 20}, {DType::U8, 100}}));
}

TEST(ParameterCount, OfNothingIsNothing) {
  testing::ScratchFolder folder;
  write_safetensors(folder / "empty", {}, {});
  EXPECT_EQ(count_parameters(Safetensors::open(folder / "empty")).total, 0);
}

}  // namespace
}  // namespace mega
