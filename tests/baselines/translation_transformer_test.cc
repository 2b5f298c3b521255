// The Transformer beside a translator: how it starts, and the costs of both. What both compute is in
// tests/models/translation_model_test.cc and in the golden files.
#include "mega/baselines/translation_transformer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "tests/counting_allocator.h"
#include "tests/models/translation_helpers.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

const bool kCounts = testing::CountingAllocator::install();

TEST(TranslationTransformer, InitialisedAsPublished) {
  TransformerTranslationOptions options;
  options.encoder_layers = options.decoder_layers = 1;
  options.vocabulary = 2000;
  torch::manual_seed(1);
  TranslationTransformer model(options);
  for (const auto& item : model->named_parameters()) {
    const std::string& name = item.key();
    SCOPED_TRACE(name);
    if (item.value().dim() == 1) {
      const bool one = name.ends_with("norm.weight");
      EXPECT_TRUE((item.value() == (one ? 1 : 0)).all().item<bool>());
      continue;
    }
    const double sum = static_cast<double>(item.value().size(0) + item.value().size(1));
    const bool projection =
        name.ends_with("q_proj.weight") || name.ends_with("k_proj.weight") || name.ends_with("v_proj.weight");
    const double expected =
        name.ends_with("embed_tokens.weight") ? 1 / std::sqrt(512.0) : std::sqrt((projection ? 1 : 2) / sum);
    EXPECT_NEAR(item.value().std().item<double>() / expected, 1.0, 0.01);
  }
}

TEST(TranslationTransformer, IsNearlyAsLargeAsTheTranslatorBesideIt) {
  TranslatorOptions mega;  // the feed-forward beside it is rounded to a multiple of the width
  mega.vocabulary = 8000;
  for (const int64_t width : {128, 256, 512}) {
    mega.block.width = width;
    mega.block.values = mega.block.hidden = 2 * width;
    mega.block.shared = width / 4;
    const auto ours = static_cast<double>(count_parameters({mega}).total);
    const auto theirs = static_cast<double>(count_parameters(*baseline_of({mega}, "transformer")).total);
    EXPECT_NEAR(theirs / ours, 1.0, 0.06) << ours << " and " << theirs;
  }
}

TEST(Cost, OfTranslatorsByHand) {
  TransformerTranslationOptions options;
  options.vocabulary = 100;
  options.encoder_layers = 2;
  options.decoder_layers = 3;
  options.width = 8;
  options.hidden = 20;
  const double layer = 4 * 8 * 8 + 2 * 8 * 20, cross = 4 * 8 * 8 + 2 * 49 * 8;
  EXPECT_EQ(options.multiply_adds(49), 2 * (layer + 2 * 49 * 8) + 3 * (layer + 2 * 25 * 8 + cross) + 100 * 8);

  TranslatorOptions mega;
  mega.vocabulary = 100;
  mega.encoder_layers = mega.decoder_layers = 1;
  mega.block.width = 8;
  mega.block.values = 16;
  mega.block.shared = 4;
  mega.block.hidden = 20;
  mega.block.ema.dimension = 2;
  const double block = 8 * 16 + 8 * (4 + 16 + 16) + 16 * 8 + 2 * 8 * 20;
  const double gated = 8 * (16 + 4) + 8 * 8 + 8 * (4 + 8) + 49 * (4 + 8);
  EXPECT_EQ(mega.multiply_adds(49),
            block + 49 * 20 + 2 * 16 * 2 + block + 25 * 20 + 2 * 8 * 2 + gated + 100 * 8);
}

// The peak memory of a training step on random pairs.
double measured(const ModelOptions& options, int64_t length, int64_t batch) {
  const auto model = make_translation_model(options);
  const int64_t types = translation_options(options)->vocabulary;
  const auto step = [&](int64_t l) {
    const Tensor source = torch::randint(4, types, {batch, l}, torch::kInt64),
                 target = torch::randint(4, types, {batch, l}, torch::kInt64);
    const Tensor features = model->features(target, {}, model->encode(source));
    model->losses(features.flatten(0, 1), target.flatten(), 0.1).sum().backward();
  };
  step(8);  // allocates gradients before the measurement
  return testing::CountingAllocator::growth([&] { step(length); });
}

TEST(Cost, MemoryEstimateOfTranslatorsIsNearTheMeasurement) {
  ASSERT_TRUE(kCounts);
  const auto mega = [](int64_t vocabulary, int64_t width, int64_t hidden, bool prenorm) {
    TranslatorOptions options;
    options.vocabulary = vocabulary;
    options.encoder_layers = options.decoder_layers = 3;
    options.block.width = width;
    options.block.values = 2 * width;
    options.block.shared = width / 4;
    options.block.hidden = hidden;
    options.block.prenorm = prenorm;
    options.block.dropout = options.block.attention_dropout = options.block.hidden_dropout = 0.1;
    return options;
  };
  TransformerTranslationOptions transformer;
  transformer.vocabulary = 1000;
  transformer.encoder_layers = transformer.decoder_layers = 3;
  transformer.width = 64;
  transformer.hidden = 256;
  TransformerTranslationOptions wide = transformer;
  wide.hidden = 1024;
  TransformerTranslationOptions many = transformer;
  many.vocabulary = 20000;
  struct Case {
    const char* name;
    ModelOptions options;
    int64_t length, batch;
  };
  for (const Case& c :
       {Case{"Mega", {mega(1000, 64, 128, false)}, 200, 8},
        Case{"prenorm", {mega(1000, 64, 128, true)}, 200, 8},
        Case{"no feed-forward", {mega(1000, 64, 0, false)}, 400, 4},
        Case{"many types", {mega(20000, 64, 128, false)}, 100, 8}, Case{"transformer", {transformer}, 200, 8},
        Case{"wide", {wide}, 200, 8}, Case{"transformer, many types", {many}, 100, 8}}) {
    const double estimate = c.options.kind().activation_bytes(c.length, c.batch);
    const double truth = measured(c.options, c.length, c.batch);
    EXPECT_NEAR(estimate / truth, 1.0, 0.2) << c.name << ": " << estimate << " estimated, " << truth;
  }
}

}  // namespace
}  // namespace mega::baselines
