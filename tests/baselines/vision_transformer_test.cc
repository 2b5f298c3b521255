#include "mega/baselines/vision_transformer.h"

#include <gtest/gtest.h>

#include "tests/models/helpers.h"
#include "tests/nn/helpers.h"

namespace mega::baselines {
namespace {

using testing::difference;
using testing::with_large_weights;
using torch::Tensor;

VisionTransformerOptions tiny() {
  VisionTransformerOptions options;
  options.image = 12;
  options.patch = 4;
  options.classes = 3;
  options.layers = 2;
  options.width = 12;
  options.hidden = 20;
  options.heads = 3;
  return options;
}

TEST(VisionTransformer, BothFormsAgree) {
  torch::manual_seed(1);
  for (const bool distilled : {false, true}) {
    VisionTransformerOptions options = tiny();
    options.image_width = 9;
    options.distilled = distilled;
    options.drop_path = 0.5;
    options.dropout = 0.2;
    auto model = with_large_weights(VisionTransformer(options));
    model->train();
    testing::compare_module_forms(*model, torch::randn({4, 3, 12, 9}),
                                  [&](const Tensor& x) { return model->forward(x); });
  }
}

TEST(VisionTransformer, TheAnswerOfADistilledOneIsTheMean) {
  torch::manual_seed(2);
  VisionTransformerOptions options = tiny();
  options.distilled = true;
  auto model = with_large_weights(VisionTransformer(options));
  const Tensor pictures = torch::randn({2, 3, 12, 12});
  const std::vector<Tensor> said = model->answers(pictures);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_GT(difference(said[0], said[1]), 1e-3);
  EXPECT_LT(difference(model->forward(pictures), (said[0] + said[1]) / 2), 1e-6);
}

TEST(VisionTransformer, BeginsAsPublished) {
  torch::manual_seed(3);
  VisionTransformerOptions options = tiny();
  options.qkv_bias = false;
  options.image = 64;
  VisionTransformer model(options);
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters.find("blocks.0.attn.qkv.bias"), nullptr);
  for (const char* name : {"pos_embed", "blocks.1.attn.qkv.weight", "blocks.0.mlp.fc1.weight"})
    EXPECT_NEAR(parameters[name].std().item<double>(), 0.02, 0.002) << name;
  EXPECT_EQ(parameters["head.bias"].abs().max().item<double>(), 0.0);
  EXPECT_EQ(parameters["norm.weight"].min().item<double>(), 1.0);
}

}  // namespace
}  // namespace mega::baselines
