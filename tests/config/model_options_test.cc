#include "mega/config/model_options.h"

#include <gtest/gtest.h>

#include "mega/base/options/options_io.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

TEST(ModelOptions, EachKindIsValidByDefaultAndRoundTrips) {
  for (const char* kind : {"classifier", "matcher", "transformer", "language", "transformer_language",
                           "translator", "transformer_translation", "image"}) {
    ModelOptions options;
    set_option(options, std::string("kind=") + kind);
    EXPECT_NO_THROW(validate(options)) << kind;
    const nlohmann::ordered_json json = options_to_json(options);
    EXPECT_EQ(json["kind"], kind);
    ModelOptions again;
    options_from_json(again, nlohmann::json::parse(json.dump()));
    EXPECT_EQ(options_to_json(again), json);
  }
}

TEST(ModelOptions, LanguageModelsAreCausal) {
  ModelOptions options{LanguageModelOptions()};
  set_option(options, "block.causal=false");
  EXPECT_PRED2(contains, error_of([&] { validate(options); }),
               "model: block.causal: a language model predicts");
}

TEST(ModelOptions, CutoffsGrowAndStayInTheVocabulary) {
  LanguageModelOptions language;
  language.vocabulary = 1000;
  for (const std::vector<int64_t>& good : {std::vector<int64_t>{}, {100}, {100, 999}}) {
    language.cutoffs = good;
    EXPECT_NO_THROW(validate(ModelOptions{language}));
  }
  for (const std::vector<int64_t>& bad : {std::vector<int64_t>{1000}, {200, 100}, {100, 100}}) {
    language.cutoffs = bad;
    EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{language}); }),
                 "model: cutoffs: expected growing");
  }
  language.cutoffs = {1, 2, 3, 4, 5};
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{language}); }), "leave no width");
}

TEST(ModelOptions, EmbeddingNormNeedsPostnorm) {
  ClassifierOptions classifier;
  classifier.normalize_embedding = true;
  EXPECT_NO_THROW(validate(ModelOptions{classifier}));
  classifier.block.prenorm = true;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{classifier}); }),
               "normalize_embedding = false");
}

TEST(ModelOptions, PatchesCoverTheImage) {
  ImageClassifierOptions image;
  EXPECT_EQ(image.grid(), (Grid{14, 14}));
  image.image_width = 300;
  image.patch = 15;
  EXPECT_EQ(image.grid(), (Grid{15, 20})) << "the last row reaches beyond the picture";
  EXPECT_EQ(image.stack().block.max_positions, 300);
  EXPECT_NO_THROW(validate(ModelOptions{image}));
  image.block.causal = true;
  image.block.ema.bidirectional = false;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{image}); }), "block.causal");
  image.block = image_block();
  image.block.prenorm = false;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{image}); }), "block.prenorm");
}

TEST(ModelOptions, BaselinesOfPicturesFitTogether) {
  VisionTransformerOptions transformer;
  transformer.heads = 7;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{transformer}); }), "7 heads");
  transformer.heads = 12;
  transformer.distilled = true;
  transformer.representation = 10;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{transformer}); }), "representation");
  ResNetOptions resnet;
  resnet.blocks = {1, 2};
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{resnet}); }), "2 and 4");
}

TEST(ModelOptions, TheDecoderSeesOnlyThePast) {
  TranslatorOptions translator;
  const BlockOptions block = decoder_block(translator);
  EXPECT_TRUE(block.causal);
  EXPECT_FALSE(block.ema.bidirectional);
  EXPECT_NO_THROW(validate(block));
}

TEST(ModelOptions, SharedEmbeddingsNeedOneVocabulary) {
  for (const char* kind : {"translator", "transformer_translation"}) {
    ModelOptions options;
    set_option(options, std::string("kind=") + kind);
    set_option(options, "source_vocabulary=1000");
    EXPECT_PRED2(contains, error_of([&] { validate(options); }),
                 "model: source_vocabulary: a source of 1000 token types and a target of 32768");
    set_option(options, "vocabulary=1000");
    EXPECT_NO_THROW(validate(options));
    set_option(options, "vocabulary=2000");
    set_option(options, "share_embeddings=false");
    EXPECT_NO_THROW(validate(options));
  }
}

TEST(ModelOptions, CrossAttentionLimitsSentencesWhateverTheChunk) {
  TranslatorOptions translator;
  translator.block.max_positions = 300;
  translator.block.chunk = 16;
  EXPECT_EQ(translator.max_length(), 300);
  translator.block.position = PositionKind::rotary;
  EXPECT_EQ(translator.max_length(), 0);
}

TEST(ModelOptions, OnlySeriesHaveChannels) {
  for (const char* kind : {"classifier", "matcher", "transformer"}) {
    ModelOptions options;
    set_option(options, std::string("kind=") + kind);
    sequence_options(options)->channels = 2;
    for (const InputKind input : {InputKind::tokens, InputKind::pixels, InputKind::samples}) {
      sequence_options(options)->input = input;
      EXPECT_PRED2(contains, error_of([&] { validate(options); }), "model: channels: only input = series");
    }
    sequence_options(options)->input = InputKind::series;
    EXPECT_NO_THROW(validate(options)) << kind;
  }
}

}  // namespace
}  // namespace mega
