#include "mega/models/image_classifier.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mega/ops/form.h"
#include "mega/train/adamw.h"
#include "tests/base/helpers.h"
#include "tests/models/helpers.h"
#include "tests/nn/helpers.h"

namespace mega::models {
namespace {

using testing::contains;
using testing::difference;
using testing::error_of;
using testing::with_large_weights;
using torch::Tensor;

ImageClassifierOptions tiny(int64_t height, int64_t width = 0) {
  ImageClassifierOptions options;
  options.image = height;
  options.image_width = width;
  options.patch = 4;
  options.classes = 3;
  options.layers = 2;
  options.block.width = 8;
  options.block.values = 12;
  options.block.shared = 6;
  options.block.hidden = 10;
  options.block.ema.dimension = 3;
  return options;
}

TEST(ImageClassifier, BothFormsAgreeForAnySizeAndChunk) {
  torch::manual_seed(1);
  for (const auto& [height, width] : {std::pair{16, 0}, {12, 20}, {13, 7}, {1, 1}, {3, 30}})
    for (const int64_t chunk : {-1, 3, 4, 64}) {
      SCOPED_TRACE(c10::str(height, " by ", width, ", chunk ", chunk));
      ImageClassifierOptions options = tiny(height, width);
      options.block.chunk = chunk;
      auto model = with_large_weights(ImageClassifier(options));
      const Tensor pictures = torch::randn({2, 3, options.rows(), options.columns()});
      testing::compare_module_forms(*model, pictures, [&](const Tensor& x) { return model->forward(x); });
    }
}

// What is beyond the edge is as good as black pixels of the mean colour that are part of the picture.
TEST(ImageClassifier, PatchesReachBeyondTheEdge) {
  torch::manual_seed(2);
  auto cut = with_large_weights(ImageClassifier(tiny(13, 7)));
  ImageClassifier whole(tiny(16, 8));
  {
    const torch::NoGradGuard guard;
    whole->eval();
    const auto parameters = cut->named_parameters();
    for (auto& item : whole->named_parameters()) item.value().copy_(parameters[item.key()]);
  }
  const Tensor pictures = torch::randn({2, 3, 13, 7});
  EXPECT_LT(
      difference(cut->forward(pictures), whole->forward(torch::constant_pad_nd(pictures, {0, 1, 0, 3}))),
      1e-6);
}

// The convolution, computed as one, in reading order.
TEST(ImageClassifier, PatchesAreAConvolution) {
  torch::manual_seed(3);
  PatchEmbedding embedding(3, 4, 5, PatchForm::convolution);
  const Tensor pictures = torch::randn({2, 3, 8, 12});
  const auto parameters = embedding->named_parameters();
  const Tensor expected =
      torch::conv2d(pictures, parameters["pemb.proj.weight"], parameters["pemb.proj.bias"], 4);
  EXPECT_LT(difference(expected.flatten(2).transpose(1, 2), embedding->forward(pictures)), 1e-5);
}

TEST(ImageClassifier, ReadsPixelsRowByRow) {
  torch::manual_seed(4);
  auto model = with_large_weights(ImageClassifier(tiny(8, 12)));
  const Tensor pictures = torch::randn({2, 3, 8, 12});
  const Tensor pixels = pictures.permute({0, 2, 3, 1}).reshape({2, 96, 3});
  EXPECT_LT(difference(model->predict({{pixels, {}}}), model->forward(pictures)), 1e-6);
  ImageClassifierOptions grey = tiny(8, 12);
  grey.channels = 1;
  EXPECT_EQ(ImageClassifier(grey)->predict({{torch::randn({2, 96}), {}}}).size(1), 3);
  EXPECT_PRED2(contains, error_of([&] {
                 model->predict({{torch::randn({2, 95, 3}), {}}});
               }),
               "8 by 12 pixels with 3 channels");
  EXPECT_PRED2(contains, error_of([&] { model->predict({{torch::randn({2, 96}), {}}}); }), "3 channels");
}

TEST(ImageClassifier, BeginsAsReleased) {
  torch::manual_seed(5);
  ImageClassifierOptions options = tiny(64);
  options.block.width = 96;
  options.representation = 50;
  const auto spread = [](const Tensor& x) { return x.std().item<double>(); };
  const auto largest = [](const Tensor& x) { return x.abs().max().item<double>(); };
  ImageClassifier model(options);
  const auto parameters = model->named_parameters();
  EXPECT_NEAR(spread(model->pos_embed), 1 / std::sqrt(96.0), 0.003);
  const double bound = 1 / std::sqrt(48.0);
  EXPECT_LE(largest(parameters["patch_embed.pemb.proj.weight"]), bound);
  EXPECT_NEAR(spread(parameters["patch_embed.pemb.proj.weight"]), bound / std::sqrt(3.0), 0.005);
  EXPECT_GT(largest(parameters["patch_embed.pemb.proj.bias"]), 0.0);
  EXPECT_NEAR(spread(model->out_proj->weight), 0.02, 0.001);
  EXPECT_LE(largest(model->pre_logits->weight), std::sqrt(6.0 / 146));
  for (const auto& linear : {model->out_proj, model->pre_logits, model->head})
    EXPECT_EQ(largest(linear->bias), 0.0);
  options.patch_form = PatchForm::linear;
  EXPECT_NEAR(spread(ImageClassifier(options)->named_parameters()["patch_embed.pemb.proj.bias"]),
              1 / std::sqrt(96.0), 0.02);
}

// Which quarter of a picture is bright.
TEST(ImageClassifier, LearnsWhereSomethingIs) {
  torch::manual_seed(6);
  ImageClassifierOptions options = tiny(16);
  options.channels = 1;
  options.classes = 4;
  options.block.drop_path = 0.1;
  ImageClassifier model(options);
  TrainOptions training;
  training.weight_decay = 0.0;
  train::AdamW optimizer(model->parameters(), training);
  const auto draw = [](int64_t count) {
    const Tensor labels = torch::randint(4, {count}, torch::kInt64);
    Tensor pictures = torch::randn({count, 1, 16, 16});
    for (int64_t i = 0; i < count; ++i) {
      const int64_t quarter = labels[i].item<int64_t>();
      pictures[i][0].narrow(0, quarter / 2 * 8, 8).narrow(1, quarter % 2 * 8, 8) += 1.0;
    }
    return std::pair{pictures, labels};
  };
  for (int step = 0; step < 120; ++step) {
    const auto [pictures, labels] = draw(16);
    optimizer.zero_gradients();
    torch::cross_entropy_loss(model->forward(pictures), labels).backward();
    optimizer.step(0.01);
  }
  model->eval();
  const auto [pictures, labels] = draw(200);
  EXPECT_GT((model->forward(pictures).argmax(1) == labels).to(torch::kFloat64).mean().item<double>(), 0.9);
}

}  // namespace
}  // namespace mega::models
