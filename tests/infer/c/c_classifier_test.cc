// Classification through the C interface, compared with the same models through the C++ interface.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "mega/base/files/file.h"
#include "mega/infer/models/answer.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/models/image_classifier.h"
#include "mega/mega.h"
#include "tests/base/helpers.h"
#include "tests/infer/c/c_handle.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::ScratchFolder;

using CClassifier = Handle<mega_classifier, mega_classifier_close>;

class CClassifierTest : public ::testing::Test {
 protected:
  CClassifier open(const ModelOptions& options, const Signature& signature) {
    testing::write_random_model(path_, options, 1, &signature);
    mega_classifier* made = nullptr;
    EXPECT_EQ(mega_classifier_open(path_.c_str(), 2, &made, &error_), MEGA_OK) << error_.message;
    return CClassifier(made);
  }

  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_ / "model";
  mega_error error_{};
};

TEST_F(CClassifierTest, Texts) {
  Signature signature;
  signature.classes = {"good", "bad", "ugly"};
  const CClassifier classifier = open({testing::tiny_classifier()}, signature);
  EXPECT_EQ(mega_classifier_outputs(classifier.get()), 3);
  EXPECT_EQ(mega_classifier_documents(classifier.get()), 1);
  EXPECT_STREQ(mega_classifier_class(classifier.get(), 2), "ugly");
  EXPECT_EQ(mega_classifier_class(classifier.get(), 3), nullptr);
  EXPECT_EQ(mega_classifier_class(classifier.get(), -1), nullptr);

  const char* const text = "a film";
  const size_t bytes = std::strlen(text);
  std::vector<float> outputs(3);
  ASSERT_EQ(mega_classify_bytes(classifier.get(), &text, &bytes, 1, outputs.data(), 3, &error_), MEGA_OK)
      << error_.message;
  const std::vector<int32_t> tokens = make_tokenizer(TextUnits::bytes, "", "")->encode_document(text, 0);
  ThreadPool pool(1);
  Workspace work;
  const SequenceView view{tokens, {}, std::ssize(tokens)};
  EXPECT_EQ(outputs, Classifier::open(path_)->outputs({&view, 1}, {pool, work}));

  EXPECT_EQ(mega_classify_bytes(classifier.get(), &text, &bytes, 1, outputs.data(), 2, &error_),
            MEGA_ERROR_ROOM);
  EXPECT_EQ(mega_classify_bytes(classifier.get(), nullptr, nullptr, 0, outputs.data(), 3, &error_),
            MEGA_ERROR_REQUEST);
  const float value = 1.0f;
  EXPECT_EQ(mega_classify_values(nullptr, &value, 1, outputs.data(), 3, &error_), MEGA_ERROR_REQUEST);

  // Several threads share one classifier.
  std::vector<std::vector<float>> all(4, std::vector<float>(3));
  std::vector<std::thread> threads;
  for (auto& own : all)
    threads.emplace_back(
        [&] { mega_classify_bytes(classifier.get(), &text, &bytes, 1, own.data(), 3, nullptr); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : all) EXPECT_EQ(own, outputs);
}

TEST_F(CClassifierTest, Pairs) {
  MatcherOptions options;
  static_cast<EncoderClassifierOptions&>(options) = testing::tiny_classifier();
  options.classes = 2;
  Signature signature;
  signature.classes = {"no", "yes"};
  const CClassifier classifier = open({options}, signature);
  const char* const texts[] = {"one", "another"};
  const size_t bytes[] = {3, 7};
  float outputs[2];
  EXPECT_EQ(mega_classifier_documents(classifier.get()), 2);
  EXPECT_EQ(mega_classify_bytes(classifier.get(), texts, bytes, 2, outputs, 2, &error_), MEGA_OK)
      << error_.message;
  EXPECT_EQ(mega_classify_bytes(classifier.get(), texts, bytes, 1, outputs, 2, &error_), MEGA_ERROR_REQUEST);
  EXPECT_PRED2(contains, std::string(error_.message), "2 document(s), not 1");
}

TEST_F(CClassifierTest, SeriesAndUnits) {
  ClassifierOptions options = testing::tiny_classifier();
  options.input = InputKind::series;
  options.channels = 2;
  options.objective = Objective::regression;
  options.classes = 1;
  Signature signature;
  signature.input.input = SeriesInput{2, 0, Standardize::none};
  signature.target_mean = {0.0f};
  signature.target_deviation = {1.0f};
  const std::vector<float> values = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  float plain = 0.0f, shifted = 0.0f;
  {
    const CClassifier classifier = open({options}, signature);
    ASSERT_EQ(mega_classify_values(classifier.get(), values.data(), 6, &plain, 1, &error_), MEGA_OK)
        << error_.message;
    EXPECT_EQ(mega_classify_values(classifier.get(), values.data(), 5, &plain, 1, &error_),
              MEGA_ERROR_REQUEST);
    EXPECT_EQ(mega_classifier_class(classifier.get(), 0), nullptr);
  }
  signature.target_mean = {10.0f};
  signature.target_deviation = {3.0f};
  const CClassifier classifier = open({options}, signature);
  ASSERT_EQ(mega_classify_values(classifier.get(), values.data(), 6, &shifted, 1, &error_), MEGA_OK);
  EXPECT_FLOAT_EQ(shifted, 10.0f + 3.0f * plain);
}

TEST_F(CClassifierTest, WhatItReads) {
  ClassifierOptions options = testing::tiny_classifier();
  Signature signature;
  signature.classes = {"a", "b", "c"};
  float outputs[3];
  const float value = 0.5f;
  const char* const text = "x";
  const size_t bytes = 1;
  const auto refusal = [&](mega_status status) {
    EXPECT_EQ(status, MEGA_ERROR_REQUEST);
    return std::string(error_.message);
  };
  const auto input_of = [&] {
    mega_input input = -1;
    EXPECT_EQ(mega_input_of(path_.c_str(), &input, &error_), MEGA_OK) << error_.message;
    return input;
  };
  {
    const CClassifier classifier = open({options}, signature);
    EXPECT_EQ(mega_classifier_input(classifier.get()), MEGA_INPUT_TEXT);
    EXPECT_EQ(input_of(), MEGA_INPUT_TEXT);
    EXPECT_EQ(mega_classifier_rate(classifier.get()), 0);
    EXPECT_EQ(mega_classifier_channels(classifier.get()), 0);
    EXPECT_EQ(mega_classifier_height(classifier.get()), 0);
    EXPECT_EQ(mega_classifier_can_stream(classifier.get()), 0);
    EXPECT_PRED2(contains, refusal(mega_classify_values(classifier.get(), &value, 1, outputs, 3, &error_)),
                 "this model reads text, not numbers: use mega_classify_bytes");
    const size_t huge = SIZE_MAX;
    EXPECT_PRED2(contains,
                 refusal(mega_classify_bytes(classifier.get(), &text, &huge, 1, outputs, 3, &error_)),
                 "no array has so many");
    EXPECT_PRED2(contains,
                 refusal(mega_classify_bytes(classifier.get(), &text, &bytes, SIZE_MAX, outputs, 3, &error_)),
                 "no array has so many");
  }
  options.input = InputKind::samples;
  options.block.causal = true;
  options.block.ema.bidirectional = false;
  AudioInput audio;
  audio.rate = 4000;
  audio.standardize = Standardize::none;
  signature.input.input = audio;
  {
    const CClassifier classifier = open({options}, signature);
    EXPECT_EQ(mega_classifier_input(classifier.get()), MEGA_INPUT_AUDIO);
    EXPECT_EQ(input_of(), MEGA_INPUT_AUDIO);
    EXPECT_EQ(mega_classifier_rate(classifier.get()), 4000);
    EXPECT_EQ(mega_classifier_channels(classifier.get()), 1);
    EXPECT_EQ(mega_classifier_can_stream(classifier.get()), 1);
    EXPECT_PRED2(contains,
                 refusal(mega_classify_bytes(classifier.get(), &text, &bytes, 1, outputs, 3, &error_)),
                 "this model reads audio, not bytes: use mega_classify_values");
    const float nan = std::nanf("");
    refusal(mega_classify_values(classifier.get(), &nan, 1, outputs, 3, &error_));
    refusal(mega_classify_values(classifier.get(), &value, SIZE_MAX, outputs, 3, &error_));
  }
  options.input = InputKind::series;
  options.channels = 2;
  signature.input.input = SeriesInput{2, 0, Standardize::none};
  {
    const CClassifier classifier = open({options}, signature);
    EXPECT_EQ(mega_classifier_input(classifier.get()), MEGA_INPUT_SERIES);
    EXPECT_EQ(mega_classifier_channels(classifier.get()), 2);
    EXPECT_EQ(mega_classifier_rate(classifier.get()), 0);
  }
  options.input = InputKind::pixels;
  options.channels = 1;
  ImageInput image;
  image.height = 3;
  image.width = 5;
  signature.input.input = image;
  const CClassifier classifier = open({options}, signature);
  EXPECT_EQ(mega_classifier_input(classifier.get()), MEGA_INPUT_IMAGE);
  EXPECT_EQ(mega_classifier_height(classifier.get()), 3);
  EXPECT_EQ(mega_classifier_width(classifier.get()), 5);
  EXPECT_EQ(mega_classifier_channels(classifier.get()), 0);
}

TEST_F(CClassifierTest, Pictures) {
  const ImageClassifierOptions options = testing::tiny_image_classifier();
  const CClassifier classifier = open({options}, testing::picture_signature(options));
  EXPECT_EQ(mega_classifier_input(classifier.get()), MEGA_INPUT_IMAGE);
  EXPECT_EQ(mega_classifier_height(classifier.get()), 9);
  EXPECT_EQ(mega_classifier_width(classifier.get()), 14);
  EXPECT_EQ(mega_classifier_image_channels(classifier.get()), 3);
  EXPECT_EQ(mega_classifier_channels(classifier.get()), 0);
  EXPECT_EQ(mega_classifier_outputs(classifier.get()), 3);
  EXPECT_EQ(mega_classifier_can_stream(classifier.get()), 0);

  // A picture of another size than the model's, as pixels and as a file.
  constexpr int64_t kHeight = 21, kWidth = 33;
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < kHeight * kWidth * 3; ++i) pixels.push_back(static_cast<uint8_t>(i * 7919 % 256));
  const std::filesystem::path file = folder_ / "picture.ppm";
  write_file(file, "P6 33 21 255\n" + std::string(pixels.begin(), pixels.end()));
  std::vector<float> outputs(3), of_file(3);
  const auto classify = [&](int64_t height, int64_t width, int64_t channels, float* to, size_t count) {
    return mega_classify_pixels(classifier.get(), pixels.data(), height, width, channels, to, count, &error_);
  };
  ASSERT_EQ(classify(kHeight, kWidth, 3, outputs.data(), 3), MEGA_OK) << error_.message;
  ASSERT_EQ(mega_classify_picture_file(classifier.get(), file.c_str(), of_file.data(), 3, &error_), MEGA_OK)
      << error_.message;
  EXPECT_EQ(of_file, outputs);

  // As the C++ interface.
  data::Record record;
  record.picture = data::Picture(kHeight, kWidth, 3);
  record.picture.samples = pixels;
  const auto model = ImageClassifier::open(path_);
  ThreadPool pool(1);
  Workspace work;
  EXPECT_EQ(outputs, outputs_of(*model, model->encoder(), record, {pool, work}));

  // Grey is the same in all colours.
  std::vector<uint8_t> grey(pixels.begin(), pixels.begin() + kHeight * kWidth), colours;
  for (const uint8_t level : grey) colours.insert(colours.end(), 3, level);
  ASSERT_EQ(classify(kHeight, kWidth, 1, outputs.data(), 3), MEGA_OK) << error_.message;
  pixels = colours;
  ASSERT_EQ(classify(kHeight, kWidth, 3, of_file.data(), 3), MEGA_OK) << error_.message;
  EXPECT_EQ(of_file, outputs);

  EXPECT_EQ(classify(kHeight, kWidth, 3, outputs.data(), 2), MEGA_ERROR_ROOM);
  for (const auto& [height, width, channels] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {0, 1, 3}, {-1, 5, 3}, {1, 1, 0}, {1, 1, 5}, {INT64_MAX, INT64_MAX, 3}, {1 << 20, 1 << 20, 1}})
    EXPECT_EQ(classify(height, width, channels, outputs.data(), 3), MEGA_ERROR_REQUEST);
  EXPECT_EQ(mega_classify_pixels(classifier.get(), nullptr, 1, 1, 3, outputs.data(), 3, &error_),
            MEGA_ERROR_REQUEST);
  EXPECT_EQ(mega_classify_picture_file(classifier.get(), nullptr, outputs.data(), 3, &error_),
            MEGA_ERROR_REQUEST);
  write_file(file, "no picture");
  EXPECT_EQ(mega_classify_picture_file(classifier.get(), file.c_str(), outputs.data(), 3, &error_),
            MEGA_ERROR_REQUEST);
  EXPECT_PRED2(contains, std::string(error_.message), "picture.ppm: not a PNG, JPEG, WebP");
  const float value = 0.5F;
  EXPECT_EQ(mega_classify_values(classifier.get(), &value, 1, outputs.data(), 3, &error_),
            MEGA_ERROR_REQUEST);
  EXPECT_STREQ(error_.message, "this model reads image, not numbers: use mega_classify_pixels");
}

TEST_F(CClassifierTest, ATextModelReadsNoPictures) {
  Signature signature;
  signature.classes = {"a", "b", "c"};
  const CClassifier classifier = open({testing::tiny_classifier()}, signature);
  const uint8_t pixel = 0;
  float outputs[3];
  EXPECT_EQ(mega_classify_pixels(classifier.get(), &pixel, 1, 1, 1, outputs, 3, &error_), MEGA_ERROR_REQUEST);
  EXPECT_STREQ(error_.message, "this model reads text, not pictures: use mega_classify_bytes");
  EXPECT_EQ(mega_classify_picture_file(classifier.get(), "a.png", outputs, 3, &error_), MEGA_ERROR_REQUEST);
  EXPECT_EQ(mega_classifier_image_channels(classifier.get()), 0);
}

TEST_F(CClassifierTest, ModelWithoutSignature) {
  testing::write_random_model(path_, {testing::tiny_classifier()});
  mega_classifier* made = nullptr;
  ASSERT_EQ(mega_classifier_open(path_.c_str(), 1, &made, &error_), MEGA_OK) << error_.message;
  const CClassifier classifier(made);
  EXPECT_EQ(mega_classifier_input(classifier.get()), MEGA_INPUT_UNKNOWN);
  const char* const text = "x";
  const size_t bytes = 1;
  float outputs[3];
  EXPECT_EQ(mega_classify_bytes(classifier.get(), &text, &bytes, 1, outputs, 3, &error_), MEGA_ERROR_REQUEST);
  EXPECT_PRED2(contains, std::string(error_.message), "has no description of its input encoding");
}

TEST_F(CClassifierTest, ATextModelReadsNoNumbers) {
  Signature signature;
  signature.classes = {"a", "b", "c"};
  signature.input.input = TextInput{};
  const CClassifier classifier = open({testing::tiny_classifier()}, signature);
  const std::vector<float> values = {0.5F, 1.0F};
  std::vector<float> outputs(3);
  EXPECT_EQ(mega_classify_values(classifier.get(), values.data(), 2, outputs.data(), 3, &error_),
            MEGA_ERROR_REQUEST);
  EXPECT_STREQ(error_.message, "this model reads text, not numbers: use mega_classify_bytes");
}

}  // namespace
}  // namespace mega::infer
