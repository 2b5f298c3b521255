#include "mega/data/augment/picture_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "mega/config/recipe/presets.h"
#include "mega/data/augment/draws.h"
#include "mega/data/augment/mix.h"
#include "mega/data/augment/random_box.h"
#include "mega/data/example_source.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;

ImageAugmentOptions deit() {
  ImageAugmentOptions options;
  options.crop = true;
  options.flip = 0.5;
  options.operations = 2;
  options.erase = 0.25;
  options.mixup = 0.8;
  options.cutmix = 1.0;
  options.repeats = 3;
  return options;
}

ImageInput colour_input(int64_t side) {
  ImageInput input;
  input.height = input.width = side;
  input.channels = 3;
  input.filter = ImageFilter::bicubic;
  input.crop = 0.875;
  return input;
}

Picture varied(int64_t height, int64_t width, int64_t channels, uint64_t seed = 1) {
  Picture picture(height, width, channels);
  Random draws(seed);
  for (uint8_t& sample : picture.samples) sample = static_cast<uint8_t>(draws.bits());
  return picture;
}

TEST(PictureChanges, NothingIsOnByDefault) {
  const ImageInput input = colour_input(8);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const PictureChanges changes = draw_changes({}, input, 20, 30, seed);
    EXPECT_FALSE(changes.flip || changes.erased);
    EXPECT_TRUE(changes.steps.empty());
    EXPECT_EQ(changes.view.window, plain_view(input, 20, 30).window);
    EXPECT_EQ(changes.view.part, (Box{0, 0, 20, 30}));
  }
}

TEST(PictureChanges, TheCentreIsSeenInEvaluation) {
  const ImageInput input = colour_input(224);
  const Resampling wide = plain_view(input, 375, 500);
  EXPECT_EQ(wide.height, 256);
  EXPECT_EQ(wide.width, 341);                       // truncated
  EXPECT_EQ(wide.window, (Box{16, 58, 224, 224}));  // 58.5, to even
  const Resampling high = plain_view(input, 500, 375);
  EXPECT_EQ(high.window, (Box{58, 16, 224, 224}));
  ImageInput whole = input;
  whole.crop = 0;
  EXPECT_EQ(plain_view(whole, 375, 500).window, (Box{0, 0, 224, 224}));
  // A frame that is not square is covered, whatever the picture's shape.
  ImageInput flat = input;
  flat.height = 64;
  for (const auto& [height, width] : {std::pair(10, 10), std::pair(10, 1000), std::pair(1000, 10)}) {
    const Resampling view = plain_view(flat, height, width);
    EXPECT_TRUE(view.height == 73 || view.width == 256);
    EXPECT_LE(view.window.top + view.window.height, view.height);
    EXPECT_LE(view.window.left + view.window.width, view.width);
  }
}

// What is kept of a scaled picture is the same as if all of it had been scaled.
TEST(PictureChanges, AWindowIsPartOfTheWhole) {
  const Picture picture = varied(37, 53, 3);
  for (const auto& [height, width] :
       {std::pair(20, 90), std::pair(64, 53), std::pair(37, 21), std::pair(11, 13)}) {
    const Picture all = resampled(picture, height, width, Filter::bicubic);
    const Box window = {3, 4, 7, 8};
    const Picture part = resampled(picture, {{0, 0, 37, 53}, height, width, window, Filter::bicubic});
    for (int64_t y = 0; y < window.height; ++y)
      EXPECT_TRUE(
          std::equal(part.row(y), part.row(y) + window.width * 3, all.row(window.top + y) + window.left * 3));
  }
  EXPECT_NE(error_of([&] { resampled(picture, {{0, 0, 38, 53}, 5, 5, {0, 0, 5, 5}, Filter::bicubic}); }), "");
  EXPECT_NE(error_of([&] { resampled(picture, {{0, 0, 37, 53}, 5, 5, {0, 1, 5, 5}, Filter::bicubic}); }), "");
}

TEST(PictureChanges, AFunctionOfTheSeed) {
  const ImageInput input = colour_input(16);
  const Picture picture = varied(40, 30, 3);
  std::set<std::vector<uint8_t>> seen;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto make = [&] {
      return changed(picture, draw_changes(deit(), input, 40, 30, seed), fill_of(input)).samples;
    };
    EXPECT_EQ(make(), make());
    seen.insert(make());
  }
  EXPECT_EQ(seen.size(), 30U);
  // One that is turned off does not move the others.
  ImageAugmentOptions fewer = deit();
  fewer.flip = fewer.jitter = 0;
  fewer.operations = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const PictureChanges all = draw_changes(deit(), input, 40, 30, seed);
    const PictureChanges some = draw_changes(fewer, input, 40, 30, seed);
    EXPECT_EQ(all.view.part, some.view.part);
    EXPECT_EQ(all.erased, some.erased);
  }
}

TEST(PictureChanges, HappenWithTheirProbability) {
  const ImageInput input = colour_input(32);
  double flips = 0, erased = 0, steps = 0, area = 0;
  std::map<PictureOperation, int> operations;
  constexpr int kDraws = 4000;
  for (uint64_t seed = 0; seed < kDraws; ++seed) {
    const PictureChanges changes = draw_changes(deit(), input, 300, 400, seed);
    flips += changes.flip;
    erased += changes.erased.has_value();
    steps += static_cast<double>(changes.steps.size());
    for (const OperationStep& step : changes.steps) ++operations[step.operation];
    const Box& part = changes.view.part;
    area += static_cast<double>(part.height * part.width) / (300.0 * 400.0);
    EXPECT_GE(part.top, 0);
    EXPECT_LE(part.top + part.height, 300);
    EXPECT_LE(part.left + part.width, 400);
  }
  EXPECT_NEAR(flips / kDraws, 0.5, 0.03);
  EXPECT_NEAR(erased / kDraws, 0.25, 0.03);
  EXPECT_NEAR(steps / kDraws, 1.0, 0.05);
  EXPECT_TRUE(area / kDraws > 0.35 && area / kDraws < 0.54) << "less than 0.54: the largest often do not fit";
  EXPECT_EQ(std::ssize(operations), kPictureOperations);
  for (const auto& [operation, count] : operations) EXPECT_NEAR(count, kDraws / 15.0, 80);
}

TEST(PictureChanges, JitterHasEveryOrder) {
  std::set<std::vector<PictureOperation>> orders;
  Random draws(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<PictureOperation> order;
    for (const OperationStep& step : draw_jitter(0.3, draws)) {
      order.push_back(step.operation);
      EXPECT_GE(step.argument, 0.7);
      EXPECT_LE(step.argument, 1.3);
    }
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6U);
}

TEST(PictureChanges, BetaHasItsMeanAndDeviation) {
  for (const double a : {0.2, 0.8, 1.0, 5.0}) {
    Random draws(1);
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw_beta(draws, a);
      ASSERT_TRUE(x >= 0 && x <= 1);
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.02);
    EXPECT_NEAR(squares / kDraws, 1.0 / (4 * (2 * a + 1)), 0.01);
  }
  Random draws(1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(std::isfinite(draw_beta(draws, 1e-3)));
}

// Every operation, at every strength, on pictures that are hardly pictures.
TEST(PictureChanges, DegeneratePictures) {
  const ImageInput input = colour_input(24);
  for (const auto& [height, width] :
       {std::pair(1, 1), std::pair(1, 5000), std::pair(5000, 1), std::pair(2, 2), std::pair(3, 1)}) {
    for (const int64_t channels : {1, 3}) {
      const Picture picture = varied(height, width, channels);
      for (int64_t operation = 0; operation < kPictureOperations; ++operation) {
        for (const double magnitude : {0.0, 9.0, 10.0}) {
          Picture result = picture;
          const auto kind = static_cast<PictureOperation>(operation);
          apply(result, {kind, operation_argument(kind, magnitude, true)}, {1, 2, 3});
          EXPECT_EQ(result.samples.size(), picture.samples.size());
        }
      }
    }
    const Picture picture = varied(height, width, 3);
    EXPECT_EQ(resampled(picture, plain_view(input, height, width)).samples.size(), size_t{24 * 24 * 3});
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const PictureChanges changes = draw_changes(deit(), input, height, width, seed);
      EXPECT_EQ(changed(picture, changes, fill_of(input)).samples.size(), size_t{24 * 24 * 3});
    }
  }
  // A picture of one pixel is never erased whole, and its crop is the pixel.
  ImageInput pixel = colour_input(1);
  pixel.crop = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const PictureChanges changes = draw_changes(deit(), pixel, 1, 1, seed);
    EXPECT_EQ(changes.view.part, (Box{0, 0, 1, 1}));
    const Box erased = changes.erased.value_or(Box{});
    EXPECT_EQ(erased.height * erased.width, 0);
  }
}

TEST(PictureChanges, AHundredMegapixels) {
  Picture picture(10000, 10000, 3);
  for (int64_t y = 0; y < picture.height; ++y)
    std::fill_n(picture.row(y), picture.width * 3, static_cast<uint8_t>(y / 40));
  const ImageInput input = colour_input(32);
  const Picture seen = resampled(picture, plain_view(input, picture.height, picture.width));
  EXPECT_NEAR(seen.row(0)[0], 15, 2);
  EXPECT_NEAR(seen.row(31)[95], 233, 2);
  EXPECT_EQ(changed(picture, draw_changes(deit(), input, 10000, 10000, 5), fill_of(input)).width, 32);
}

TEST(PictureChanges, MixesKeepTheirWeight) {
  const PictureShape shape = {10, 12, 3};
  ImageAugmentOptions options = deit();
  Random draws(1);
  int cuts = 0, mixes = 0;
  for (int i = 0; i < 2000; ++i) {
    const Mix mix = draw_mix(options, shape, draws);
    cuts += mix.cut;
    ASSERT_TRUE(mix.own >= 0 && mix.own <= 1);
    if (!mix.cut) continue;
    ASSERT_NEAR(mix.own, 1 - static_cast<double>(mix.box.height * mix.box.width) / 120.0, 1e-12);
  }
  EXPECT_NEAR(cuts, 1000, 100);
  options.mix_probability = 0.25;
  options.cutmix = 0;
  for (int i = 0; i < 2000; ++i) {
    const Mix mix = draw_mix(options, shape, draws);
    EXPECT_FALSE(mix.cut);
    mixes += mix.own < 1;
  }
  EXPECT_NEAR(mixes, 500, 80);

  // Of an odd number, the one in the middle stays as it is.
  std::vector<float> values = {0, 1, 2};
  mix_pictures(values, {1, 1, 1}, mixup(0.75));
  EXPECT_EQ(values, (std::vector<float>{0.5F, 1, 1.5F}));
  EXPECT_EQ(mix_labels(std::vector<int64_t>{0, 1, 2}, 3, mixup(0.75)),
            (std::vector<float>{0.75F, 0, 0.25F, 0, 1, 0, 0.25F, 0, 0.75F}));
  EXPECT_NE(error_of([&] { mix_pictures(values, {2, 1, 1}, mixup(0.5)); }), "");
}

struct Pictures {
  Part part;
  Encoder encoder;
};

Pictures pictures(int64_t count, int64_t classes) {
  std::vector<Record> records(static_cast<size_t>(count));
  Part part;
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].picture = varied(12 + static_cast<int64_t>(i % 5), 20, i % 3 == 0 ? 1 : 3, i);
    records[i].where = std::to_string(i);
  }
  part = Part(std::move(records));
  Signature signature;
  signature.input.input = colour_input(8);
  for (int64_t i = 0; i < count; ++i) part.labels.push_back(i % classes);
  for (int64_t c = 0; c < classes; ++c) signature.classes.push_back(std::to_string(c));
  return {std::move(part), Encoder(signature)};
}

BatchOptions batches_of(int64_t size, const ImageAugmentOptions& image) {
  BatchOptions options;
  options.batch = size;
  options.augment.image = image;
  return options;
}

// Batches are a function of seed and epoch: with any number of threads, and from any point on.
TEST(PictureBatches, AreTheSameWithAnyNumberOfThreads) {
  const Pictures data = pictures(40, 4);
  BatchOptions options = batches_of(6, deit());
  const auto stream = [&](int64_t threads, Cursor start = {}) {
    options.threads = threads;
    return std::make_unique<BatchStream>(std::make_unique<ExampleSource>(data.part, data.encoder, options, 7),
                                         start);
  };
  const auto one = stream(1), four = stream(4);
  for (int i = 0; i < 20; ++i) {
    const Batch a = one->next(), b = four->next();
    EXPECT_EQ(a.examples, b.examples);
    EXPECT_EQ(a.inputs[0].values, b.inputs[0].values);
    EXPECT_EQ(a.targets.soft, b.targets.soft);
    const auto resumed = stream(3, one->cursor());
    const auto again = stream(1, one->cursor());
    EXPECT_EQ(resumed->next().inputs[0].values, again->next().inputs[0].values);
  }
}

TEST(PictureBatches, AreMixedWithTheirTargets) {
  const Pictures data = pictures(16, 4);
  ImageAugmentOptions image;
  image.cutmix = 1;
  const BatchOptions options = batches_of(16, image);
  ExampleSource source(data.part, data.encoder, options, 1);
  const auto plan = source.plan(0);
  const Batch batch = source.make(plan[0]);
  EXPECT_EQ(batch.inputs[0].channels, 3);
  EXPECT_EQ(batch.inputs[0].length, 64);
  ASSERT_EQ(batch.targets.soft.size(), 16U * 4U);
  for (size_t i = 0; i < 16; ++i) {
    double sum = 0;
    for (size_t c = 0; c < 4; ++c) sum += static_cast<double>(batch.targets.soft[i * 4 + c]);
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  // Not in evaluation.
  EXPECT_TRUE(make_batch(data.part, data.encoder, plan[0], 1).targets.soft.empty());
  // Nor without classes.
  Part numbers = data.part;
  numbers.labels.clear();
  numbers.targets.assign(16, 1.0F);
  BatchContext context;
  context.training = true;
  context.augment.image = image;
  EXPECT_PRED2(contains, error_of([&] { make_batch(numbers, data.encoder, plan[0], 1, context); }), "mixup");
}

TEST(PictureBatches, RepeatedExamplesDiffer) {
  const Pictures data = pictures(12, 3);
  ImageAugmentOptions image;
  image.crop = true;
  image.repeats = 3;
  ExampleSource source(data.part, data.encoder, batches_of(6, image), 1);
  const auto plan = source.plan(0);
  ASSERT_EQ(plan.size(), 2U);
  std::map<int64_t, std::set<std::vector<float>>> seen;
  for (const auto& numbers : plan) {
    const Batch batch = source.make(numbers);
    const std::vector<float>& values = batch.inputs[0].values;
    for (size_t i = 0; i < batch.examples.size(); ++i) {
      const auto begin = values.begin() + static_cast<ptrdiff_t>(i * 192);
      seen[batch.examples[i]].insert(std::vector<float>(begin, begin + 192));
      EXPECT_EQ(batch.targets.classes[i], data.part.labels[static_cast<size_t>(batch.examples[i])]);
    }
  }
  EXPECT_EQ(seen.size(), 4U);
  for (const auto& [example, copies] : seen) EXPECT_EQ(copies.size(), 3U) << example;
}

TEST(PictureOptions, AreChecked) {
  Recipe recipe = load_preset("image-small");
  change(recipe, "augment.image.crop=true");
  change(recipe, "augment.image.mixup=0.8");
  validate(recipe);
  change(recipe, "augment.image.crop_min_area=0.9");
  change(recipe, "augment.image.crop_max_area=0.5");
  EXPECT_PRED2(contains, error_of([&] { validate(recipe); }), "crop_min_area = 0.9 is larger than");
  Recipe text = load_preset("text-small");
  change(text, "augment.image.flip=0.5");
  EXPECT_PRED2(contains, error_of([&] { validate(text); }), "augment.image: is for input.kind = image");
  Recipe colours = load_preset("image-small");
  change(colours, "input.channels=2");
  EXPECT_PRED2(contains, error_of([&] { validate(colours); }), "input.channels = 2");
  change(colours, "input.channels=3");
  change(colours, "input.means=0.1,0.2");
  EXPECT_PRED2(contains, error_of([&] { validate(colours); }), "2 numbers for 3 channels");
  change(colours, "input.means=0.1,0.2,0.3");
  change(colours, "input.crop=0.001");
  EXPECT_PRED2(contains, error_of([&] { validate(colours); }), "input.crop");
}

}  // namespace
}  // namespace mega::data
