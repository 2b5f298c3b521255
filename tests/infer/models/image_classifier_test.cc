#include "mega/infer/models/image_classifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mega/infer/models/open_model.h"
#include "mega/infer/quantize.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

class ImageClassifierTest : public ::testing::Test {
 protected:
  ImageClassifierTest() { testing::write_random_model(path_, {options_}); }

  std::vector<float> pixels(int64_t count) const {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
  }

  std::vector<float> outputs(const SequenceModel& model, const std::vector<float>& values, int64_t length,
                             int threads = 2) const {
    ThreadPool pool(threads);
    Workspace work;
    const SequenceView picture{{}, values, length};
    return model.outputs({&picture, 1}, {pool, work});
  }

  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_ / "model.safetensors";
  const ImageClassifierOptions options_ = testing::tiny_image_classifier();
};

TEST_F(ImageClassifierTest, DoesNotDependOnTheNumberOfThreads) {
  const auto model = open_model(path_);
  const std::vector<float> picture = pixels(9 * 14 * 3);
  const std::vector<float> alone = outputs(*model, picture, 9 * 14, 1);
  EXPECT_EQ(alone.size(), 3u);
  EXPECT_EQ(outputs(*model, picture, 9 * 14, 4), alone);
}

// What is said of a picture changes with each of its pixels, those of incomplete patches included.
TEST_F(ImageClassifierTest, EveryPixelCounts) {
  const auto model = open_model(path_);
  std::vector<float> picture = pixels(9 * 14 * 3);
  const std::vector<float> before = outputs(*model, picture, 9 * 14);
  for (const size_t at : {size_t{0}, size_t{13 * 3 + 2}, size_t{8 * 14 * 3}, picture.size() - 1}) {
    picture[at] += 1.0F;
    EXPECT_NE(outputs(*model, picture, 9 * 14), before) << at;
    picture[at] -= 1.0F;
  }
}

TEST_F(ImageClassifierTest, QuantizedWeightsGiveNearlyTheSame) {
  const std::vector<float> picture = pixels(9 * 14 * 3);
  const std::vector<float> exact = outputs(*open_model(path_), picture, 9 * 14);
  double largest = 0.0;
  for (const float x : exact) largest = std::max(largest, std::abs(static_cast<double>(x)));
  for (const auto& [type, tolerance] :
       {std::pair{kernels::WeightType::bf16, 0.02}, {kernels::WeightType::i8, 0.1}}) {
    const std::filesystem::path path = folder_ / quantized_name(type);
    quantize(path_, path, type);
    const std::vector<float> rounded = outputs(*open_model(path), picture, 9 * 14);
    EXPECT_NE(rounded, exact);
    for (size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(rounded[i], exact[i], tolerance * largest);
    EXPECT_LT(std::filesystem::file_size(path), std::filesystem::file_size(path_));
  }
}

TEST_F(ImageClassifierTest, AnotherSizeChangesWhatItReads) {
  const Signature signature = testing::picture_signature(options_);
  testing::write_random_model(path_, {options_}, 1, &signature);
  const ImageClassifier model(ModelFile::open(path_), "model", PictureSize{20, 11});
  EXPECT_EQ(model.options().rows(), 20);
  EXPECT_EQ(model.options().columns(), 11);
  EXPECT_EQ(model.encoder().fixed_length(), 220);
  EXPECT_EQ(outputs(model, pixels(220 * 3), 220).size(), 3u);
  EXPECT_PRED2(contains, error_of([&] { outputs(model, pixels(9 * 14 * 3), 9 * 14); }), "20 by 11 pixels");
}

TEST_F(ImageClassifierTest, RefusesOtherInput) {
  const auto model = open_model(path_);
  const auto ask = [&](int64_t numbers, int64_t length) {
    return error_of([&] { outputs(*model, pixels(numbers), length); });
  };
  EXPECT_PRED2(contains, ask(9 * 14, 9 * 14),
               "this model reads pictures of 9 by 14 pixels with 3 channel(s)");
  EXPECT_PRED2(contains, ask(14 * 9 * 3, 14 * 9 * 3), "9 by 14");
  EXPECT_PRED2(contains, ask(0, 0), "9 by 14");
  EXPECT_PRED2(contains, error_of([&] {
                 ThreadPool pool(1);
                 Workspace work;
                 model->outputs({}, {pool, work});
               }),
               "one document");
}

TEST_F(ImageClassifierTest, RefusesOtherModels) {
  testing::write_random_model(path_, {testing::tiny_classifier()});
  EXPECT_PRED2(contains, error_of([&] { ImageClassifier::open(path_); }), "a model of kind classifier");
  VisionTransformerOptions baseline;
  baseline.image = 16;
  baseline.layers = 1;
  baseline.width = 12;
  baseline.heads = 2;
  baseline.hidden = 8;
  testing::write_random_model(path_, {baseline});
  EXPECT_PRED2(contains, error_of([&] { open_model(path_); }), "not a Mega classifier");
}

}  // namespace
}  // namespace mega::infer
