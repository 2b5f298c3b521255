#include "mega/data/augment/augmenter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "mega/config/recipe/presets.h"
#include "mega/data/example_source.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using Floats = std::vector<float>;
using Tokens = std::vector<int32_t>;

float silent(size_t) { return 0.0F; }

Floats changed(const AugmentOptions& options, uint64_t seed, Floats values, int64_t channels = 1) {
  Augmenter(options, seed).change(values, channels, silent);
  return values;
}

TEST(Augmenter, NothingIsOnByDefault) {
  const Augmenter none(AugmentOptions{}, 1);
  EXPECT_FALSE(none.crops() || none.changes_texts());
  EXPECT_EQ(none.drop_bytes("abc"), "abc");
  EXPECT_EQ(none.crop_begin(100, 10), 0);
  EXPECT_EQ(changed({}, 1, {1, 2, 3}), (Floats{1, 2, 3}));
}

TEST(Augmenter, AFunctionOfTheSeed) {
  const AugmentOptions options{true, 0.5, 0.1, 0.3};
  const std::string text(200, 'x');
  const Floats values(100, 1.5F);
  const Augmenter one(options, 1), again(options, 1), other(options, 2);
  EXPECT_EQ(one.drop_bytes(text), again.drop_bytes(text));
  EXPECT_EQ(one.crop_begin(10000, 10), again.crop_begin(10000, 10));
  EXPECT_NE(one.crop_begin(10000, 10), other.crop_begin(10000, 10));
  Floats varied;
  for (int i = 0; i < 100; ++i) varied.push_back(static_cast<float>(i));
  EXPECT_EQ(changed(options, 1, varied), changed(options, 1, varied));
  EXPECT_NE(changed(options, 1, varied), changed(options, 2, varied));
  // One that is turned on does not move the others.
  AugmentOptions crop_only;
  crop_only.crop = true;
  EXPECT_EQ(Augmenter(crop_only, 1).crop_begin(10000, 10), one.crop_begin(10000, 10));
}

TEST(Augmenter, BytesAreLeftOutWithTheirProbability) {
  AugmentOptions options;
  options.byte_dropout = 0.25;
  std::string text;
  for (int i = 0; i < 10000; ++i) text += static_cast<char>('a' + i % 26);
  const std::string kept = Augmenter(options, 3).drop_bytes(text);
  EXPECT_NEAR(static_cast<double>(kept.size()), 7500, 200);
  size_t at = 0;
  for (const char byte : kept) {
    at = text.find(byte, at);
    ASSERT_NE(at, std::string::npos) << "the others keep their order";
    ++at;
  }
  options.byte_dropout = 1;
  EXPECT_EQ(Augmenter(options, 3).drop_bytes("ab").size(), 1U);
  EXPECT_EQ(Augmenter(options, 3).drop_bytes("a"), "a");
  EXPECT_EQ(Augmenter(options, 3).drop_bytes(""), "");
}

TEST(Augmenter, WindowsAreEverywhereAndInside) {
  AugmentOptions options;
  options.crop = true;
  std::set<int64_t> begins;
  for (uint64_t seed = 0; seed < 200; ++seed) begins.insert(Augmenter(options, seed).crop_begin(13, 10));
  EXPECT_EQ(begins, (std::set<int64_t>{0, 1, 2, 3}));
  const Augmenter augmenter(options, 5);
  EXPECT_EQ(augmenter.crop_begin(10, 10), 0);
  EXPECT_EQ(augmenter.crop_begin(3, 10), 0);
  EXPECT_EQ(augmenter.crop_begin(0, 0), 0);
}

TEST(Augmenter, AWindowOfTokensKeepsTheEnd) {
  AugmentOptions options;
  options.crop = true;
  std::set<Tokens> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Tokens tokens = {10, 11, 12, 13, kEnd};
    Augmenter(options, seed).crop(tokens, 3);
    seen.insert(tokens);
  }
  EXPECT_EQ(seen, (std::set<Tokens>{{10, 11, kEnd}, {11, 12, kEnd}, {12, 13, kEnd}}));
  for (const int64_t most : {0, 5, 9}) {
    Tokens tokens = {10, 11, 12, 13, kEnd};
    Augmenter(options, 1).crop(tokens, most);
    EXPECT_EQ(tokens.size(), 5U);
  }
  Tokens one = {10, 11, kEnd};
  Augmenter(options, 1).crop(one, 1);
  EXPECT_EQ(one, Tokens{kEnd});
  Tokens none;
  Augmenter(options, 1).crop(none, 1);
  EXPECT_TRUE(none.empty());
}

TEST(Augmenter, ShiftsEitherWayAndFillsWithSilence) {
  AugmentOptions options;
  options.shift = 0.5;
  std::set<Floats> seen;
  for (uint64_t seed = 0; seed < 100; ++seed)
    seen.insert(changed(options, seed, {1, 10, 2, 20, 3, 30, 4, 40}, 2));
  EXPECT_EQ(seen, (std::set<Floats>{{3, 30, 4, 40, 0, 0, 0, 0},
                                    {2, 20, 3, 30, 4, 40, 0, 0},
                                    {1, 10, 2, 20, 3, 30, 4, 40},
                                    {0, 0, 1, 10, 2, 20, 3, 30},
                                    {0, 0, 0, 0, 1, 10, 2, 20}}));
  EXPECT_TRUE(changed(options, 1, {}).empty());
  EXPECT_EQ(changed(options, 1, {7}), Floats{7}) << "half of one position is none";
}

TEST(Augmenter, NoiseIsRelativeToEachChannel) {
  AugmentOptions options;
  options.noise = 0.5;
  Floats values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(i % 2 == 0 ? -1.0F : 1.0F);  // deviates by 1
    values.push_back(7.0F);                       // does not
  }
  const Floats noisy = changed(options, 1, values, 2);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < values.size(); i += 2) {
    const double noise = static_cast<double>(noisy[i] - values[i]);
    sum += noise;
    squares += noise * noise;
    ASSERT_EQ(noisy[i + 1], 7.0F);
  }
  EXPECT_NEAR(sum / 20000, 0.0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / 20000), 0.5, 0.01);
  EXPECT_EQ(changed(options, 1, {3}), Floats{3});
  EXPECT_TRUE(changed(options, 1, {}).empty());
}

Part texts(size_t count) {
  std::vector<Record> records(count);
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < 20 + i; ++k) records[i].bytes += static_cast<char>('a' + k % 26);
  Part part(std::move(records));
  part.labels.assign(count, 0);
  return part;
}

Encoder encoder_of(const InputOptions& input) {
  Signature signature;
  signature.input = input;
  return Encoder(signature);
}

// The tokens of all examples of an epoch, by example.
std::vector<Tokens> epoch_of(const Part& part, const Encoder& encoder, const BatchOptions& options,
                             uint64_t seed, int64_t epoch) {
  ExampleSource source(part, encoder, options, seed);
  std::vector<Tokens> all(static_cast<size_t>(part.size()));
  for (const auto& examples : source.plan(epoch)) {
    const Batch batch = source.make(examples);
    const SequenceSet& input = batch.inputs.front();
    for (size_t i = 0; i < examples.size(); ++i) {
      const auto begin = input.tokens.begin() + static_cast<long>(i) * input.length;
      all[static_cast<size_t>(examples[i])] = Tokens(begin, begin + input.lengths[i]);
    }
  }
  return all;
}

TEST(AugmentedBatches, DependOnSeedEpochAndExampleAlone) {
  const Part part = texts(30);
  const Encoder encoder = encoder_of({TextInput{TextUnits::bytes, 12}});
  BatchOptions options{4, BatchUnit::examples, true, 1};
  options.augment.crop = true;
  options.augment.byte_dropout = 0.2;
  const auto first = epoch_of(part, encoder, options, 1, 0);
  EXPECT_EQ(epoch_of(part, encoder, options, 1, 0), first);
  EXPECT_NE(epoch_of(part, encoder, options, 1, 1), first);
  EXPECT_NE(epoch_of(part, encoder, options, 2, 0), first);
  EXPECT_NE(first[3], first[4]);
  options.batch = 7;
  options.by_length = false;
  EXPECT_EQ(epoch_of(part, encoder, options, 1, 0), first) << "whatever stands beside an example";
  for (const Tokens& tokens : first) {
    EXPECT_LE(tokens.size(), 12U);
    EXPECT_EQ(tokens.back(), kEnd);
  }
}

TEST(AugmentedBatches, EvaluationSeesExamplesAsTheyAre) {
  const Part part = texts(3);
  const Encoder encoder = encoder_of({TextInput{TextUnits::bytes, 12}});
  const std::vector<int64_t> all = {0, 1, 2};
  BatchContext context;
  context.augment = {true, 0.5, 1, 0.5};
  const Batch plain = make_batch(part, encoder, all, 1);
  EXPECT_EQ(make_batch(part, encoder, all, 1, context).inputs[0].tokens, plain.inputs[0].tokens);
  context.training = true;
  EXPECT_NE(make_batch(part, encoder, all, 1, context).inputs[0].tokens, plain.inputs[0].tokens);
  context.augment = {};
  EXPECT_EQ(make_batch(part, encoder, all, 1, context).inputs[0].tokens, plain.inputs[0].tokens);
}

TEST(AugmentedBatches, BothTextsOfAPairAreChangedApart) {
  std::vector<Record> records(1);
  records[0].bytes = records[0].second = std::string(50, 'a') + std::string(50, 'b');
  const Part part(records);
  BatchContext context{true, 1, 0, {}};
  context.augment.byte_dropout = 0.5;
  const std::vector<int64_t> one = {0};
  const Batch batch = make_batch(part, encoder_of({TextInput{}}), one, 2, context);
  EXPECT_NE(batch.inputs[0].tokens, batch.inputs[1].tokens);
}

TEST(AugmentedBatches, SoundsAndSeries) {
  std::vector<Record> records(2);
  for (int i = 0; i < 10; ++i) records[0].values.push_back(static_cast<float>(i));
  records[1].values = {5};
  const Part part(records);
  BatchContext context{true, 1, 0, {}};
  context.augment.crop = true;
  std::set<float> firsts;
  const Encoder series = encoder_of({SeriesInput{1, 4, Standardize::none}});
  for (context.epoch = 0; context.epoch < 100; ++context.epoch) {
    const Batch batch = make_batch(part, series, std::vector<int64_t>{0, 1}, 1, context);
    EXPECT_EQ(batch.inputs[0].lengths, (std::vector<int64_t>{4, 1}));
    const Floats& values = batch.inputs[0].values;
    firsts.insert(values[0]);
    for (size_t i = 1; i < 4; ++i) EXPECT_EQ(values[i], values[0] + static_cast<float>(i));
    EXPECT_EQ(values[4], 5.0F);
  }
  EXPECT_EQ(firsts, (std::set<float>{0, 1, 2, 3, 4, 5, 6}));

  // A series rests at its mean, which is 0 once it is standardised; silence in a sound is 0 before that.
  Signature signature;
  signature.input.input = SeriesInput{1, 0, Standardize::channel};
  signature.mean = {100};
  signature.deviation = {2};
  context.augment = {};
  context.augment.shift = 1;
  bool series_rests = false, sound_is_silent = false;
  for (context.epoch = 0; context.epoch < 50; ++context.epoch) {
    for (const float x :
         make_batch(part, Encoder(signature), std::vector<int64_t>{0}, 1, context).inputs[0].values)
      series_rests = series_rests || x == 0.0F;
    Signature sound = signature;
    sound.input.input = AudioInput{16000, 10, Standardize::channel};
    const Batch batch = make_batch(part, Encoder(sound), std::vector<int64_t>{0}, 1, context);
    sound_is_silent = sound_is_silent || batch.inputs[0].values.back() == -50.0F;
  }
  EXPECT_TRUE(series_rests);
  EXPECT_TRUE(sound_is_silent);
}

TEST(AugmentOptions, OnlyWhereTheyDoSomething) {
  const auto error = [](const std::function<void(AugmentOptions&)>& change, const InputOptions& input) {
    Recipe recipe;
    recipe.input = input;
    change(recipe.augment);
    return error_of([&] { check_augmentation(recipe.augment, recipe.input); });
  };
  const auto crop = [](AugmentOptions& o) { o.crop = true; };
  const auto noise = [](AugmentOptions& o) { o.noise = 0.1; };
  const auto dropout = [](AugmentOptions& o) { o.byte_dropout = 0.1; };
  EXPECT_PRED2(contains, error(crop, {ImageInput{}}),
               "augment.crop: is for input.kind = text, audio or series");
  EXPECT_PRED2(contains, error(noise, {TextInput{}}), "augment.noise");
  EXPECT_PRED2(contains, error(dropout, {AudioInput{}}), "augment.byte_dropout");
  EXPECT_PRED2(contains, error(dropout, {LanguageInput{}}), "not for language");
  AugmentOptions all_of_sound{true, 0.1, 0.1, 0};
  check_augmentation(all_of_sound, {AudioInput{}});
  check_augmentation(all_of_sound, {SeriesInput{}});
  check_augmentation({}, {LanguageInput{}});
}

}  // namespace
}  // namespace mega::data
