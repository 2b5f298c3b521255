#include "mega/data/encoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mega/data/formats/resample.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using Floats = std::vector<float>;
using Tokens = std::vector<int32_t>;

Signature signature_of(const InputOptions& input) {
  Signature signature;
  signature.input = input;
  return signature;
}

Record text(const std::string& first, const std::string& second = "") {
  Record record;
  record.bytes = first;
  record.second = second;
  return record;
}

Record numbers(Floats values) {
  Record record;
  record.values = std::move(values);
  return record;
}

Signature fitted(const InputOptions& input, const std::vector<Record>& records) {
  Signature signature = signature_of(input);
  fit_statistics(signature, Part(records));
  return signature;
}

void expect_near(const Floats& got, const Floats& expected, float tolerance = 1e-5F) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}

TEST(Encoder, TextsBecomeTokens) {
  const Encoder encoder(signature_of({TextInput{}}));
  const Sequence sequence = encoder.encode(text("a\xFF"));
  EXPECT_EQ(sequence.tokens, (Tokens{4 + 'a', 4 + 255, kEnd}));
  EXPECT_EQ(sequence.length, 3);
  EXPECT_TRUE(sequence.values.empty());
  EXPECT_EQ(encoder.channels(), 1);
}

TEST(Encoder, AClassTokenStandsFirstAndIsNotCutOff) {
  const Encoder encoder(signature_of({TextInput{TextUnits::bytes, 3}}), 263);
  EXPECT_EQ(encoder.encode(text("abcdef")).tokens, (Tokens{263, 4 + 'a', 4 + 'b', kEnd}));
  EXPECT_EQ(encoder.encode(text("")).tokens, (Tokens{263, kEnd}));
  EXPECT_EQ(encoder.cls(), 263);
}

TEST(Encoder, TextsBecomeTheTokensOfTheirVocabulary) {
  Signature signature = signature_of({TextInput{TextUnits::words, 4}});
  signature.vocabulary = "the\ncat\n";
  const Encoder encoder(signature, 7);
  EXPECT_EQ(encoder.encode(text("the fat\ncat")).tokens, (Tokens{7, 4, kUnknown, 5, kEnd}));
  EXPECT_EQ(encoder.encode(text("cat the cat the")).tokens, (Tokens{7, 5, 4, 5, kEnd}));
  EXPECT_EQ(encoder.length(text("cat the cat the")), 5);
  EXPECT_EQ(encoder.length(text("", "cat"), 1), 3);
  const Encoder copy = encoder;  // shares the tokenizer
  EXPECT_EQ(copy.encode(text("cat")).tokens, (Tokens{7, 5, kEnd}));

  signature.vocabulary = "the cat\n";
  EXPECT_PRED2(contains, error_of([&] { Encoder(signature, 7); }), "vocabulary:1: expected one word");
}

TEST(Encoder, APairHasTwoDocuments) {
  const Encoder encoder(signature_of({TextInput{}}));
  const Record pair = text("a", "bcd");
  EXPECT_EQ(encoder.encode(pair, 0).tokens, (Tokens{4 + 'a', kEnd}));
  EXPECT_EQ(encoder.encode(pair, 1).tokens, (Tokens{4 + 'b', 4 + 'c', 4 + 'd', kEnd}));
}

TEST(Encoder, LengthsAreThoseOfTheSequences) {
  const Record pair = text("[MAX 1 2 ]", "( 7 )");
  for (const TextUnits units : {TextUnits::bytes, TextUnits::listops}) {
    for (const int64_t most : {0, 1, 2, 5, 6, 100}) {
      for (const int32_t cls : {-1, 9}) {
        const Encoder encoder(signature_of({TextInput{units, most}}), cls);
        for (const int document : {0, 1})
          EXPECT_EQ(encoder.length(pair, document), encoder.encode(pair, document).length);
      }
    }
  }
  for (const int64_t most : {0, 1, 2, 3}) {
    const Encoder encoder(signature_of({SeriesInput{2, most, Standardize::none}}));
    const Record series = numbers({1, 2, 3, 4, 5, 6});
    EXPECT_EQ(encoder.length(series), most == 0 ? 3 : most);
    EXPECT_EQ(encoder.encode(series).length, encoder.length(series));
    EXPECT_EQ(encoder.encode(series).values.size(), static_cast<size_t>(2 * encoder.length(series)));
  }
}

TEST(Encoder, GreyValuesAreNormalised) {
  const Encoder encoder(signature_of({ImageInput{1, 3, 0.48, 0.24}}));
  const Sequence sequence = encoder.encode(text(std::string("\0\x7F\xFF", 3)));
  expect_near(sequence.values, {-2.0F, static_cast<float>((127.0 / 255 - 0.48) / 0.24), 0.52F / 0.24F});
  EXPECT_EQ(sequence.length, 3);
}

TEST(Encoder, RefusesExamplesOfAnotherShape) {
  Record image = text("abc");
  image.where = "cat/1.png";
  EXPECT_PRED2(contains, error_of([&] {
                 Encoder(signature_of({ImageInput{2, 2}})).encode(image);
               }),
               "cat/1.png: 3 pixels where the input is 2 by 2");
  Record series = numbers({1, 2, 3});
  series.where = "x.csv:7";
  const Encoder encoder(signature_of({SeriesInput{2, 0, Standardize::none}}));
  EXPECT_PRED2(contains, error_of([&] { encoder.encode(series); }),
               "x.csv:7: 3 numbers do not divide into positions of 2 channels");
}

// What readers did before: luma, transparency on white, scaled, then standardised.
TEST(Encoder, PicturesKeepTheirColoursUntilTheyAreEncoded) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    Record record;
    set_size(record.picture, 5, 3, channels, "x");
    for (size_t i = 0; i < record.picture.samples.size(); ++i)
      record.picture.samples[i] = static_cast<uint8_t>(37 * i + 11);
    const Encoder encoder(signature_of({ImageInput{4, 2, 0.25, 2.0}}));
    const GreyImage grey = resampled(to_grey(record.picture), 4, 2, Filter::bilinear);
    Record scaled;
    scaled.bytes.assign(grey.pixels.begin(), grey.pixels.end());
    const Sequence sequence = encoder.encode(record);
    EXPECT_EQ(sequence.length, 8);
    EXPECT_EQ(encoder.length(record), 8);
    EXPECT_EQ(sequence.values, encoder.encode(scaled).values) << channels << " channels";
  }
  Record red;
  set_size(red.picture, 1, 1, 4, "x");
  red.picture.samples = {255, 0, 0, 51};  // a fifth of a luma of 76, the rest white
  EXPECT_EQ(Encoder(signature_of({ImageInput{1, 1, 0, 1}})).encode(red).values, Floats{219.0F / 255.0F});
}

TEST(Statistics, OfEachChannel) {
  const std::vector<Record> records = {numbers({1, 10, 3, 10}), numbers({5, 10})};
  const Signature signature = fitted({SeriesInput{2, 0, Standardize::channel}}, records);
  expect_near(signature.mean, {3, 10});
  expect_near(signature.deviation, {std::sqrt(8.0F / 3) + 1e-5F, 1e-5F}, 1e-6F);
  expect_near(Encoder(signature).encode(records[0]).values, {-2 / std::sqrt(8.0F / 3), 0, 0, 0});
}

// As released for Speech Commands: (x - mean) / (deviation + 1e-5) at each time step.
TEST(Statistics, OfEachPosition) {
  const InputOptions input{AudioInput{16000, 3, Standardize::position}};
  const std::vector<Record> records = {numbers({1e-5F, 1, 5}), numbers({-1e-5F, 3, 5})};
  const Signature signature = fitted(input, records);
  expect_near(signature.mean, {0, 2, 5}, 1e-9F);
  expect_near(signature.deviation, {2e-5F, 1 + 1e-5F, 1e-5F}, 1e-7F);
  expect_near(Encoder(signature).encode(records[0]).values, {0.5F, -1 / (1 + 1e-5F), 0}, 1e-6F);
}

TEST(Statistics, OfEachPositionAndChannel) {
  const InputOptions input{SeriesInput{2, 0, Standardize::position}};
  const Signature signature = fitted(input, {numbers({0, 10, 2, 30}), numbers({4, 10})});
  expect_near(signature.mean, {2, 10, 2, 30});
  // Beyond the last position that training had, that one's statistics hold.
  const Floats values = Encoder(signature).encode(numbers({2, 10, 2, 30, 2 + 1e-5F, 30})).values;
  expect_near(values, {0, 0, 0, 0, 1, 0}, 0.02F);
}

TEST(Statistics, CountOnlyWhatIsRead) {
  const InputOptions input{SeriesInput{1, 2, Standardize::channel}};
  expect_near(fitted(input, {numbers({1, 3, 1000})}).mean, {2});
  const InputOptions by_position{SeriesInput{1, 2, Standardize::position}};
  EXPECT_EQ(fitted(by_position, {numbers({1, 3, 1000})}).mean.size(), 2U);
}

TEST(Statistics, LargeNumbersKeepTheirDeviation) {
  const float large = 16e6F;  // where a float still tells 1 apart
  std::vector<Record> records;
  for (int i = 0; i < 1000; ++i) records.push_back(numbers({large + static_cast<float>(i % 2), large}));
  const Signature signature = fitted({SeriesInput{2, 0, Standardize::channel}}, records);
  expect_near(signature.deviation, {0.5F + 1e-5F, 1e-5F}, 1e-6F);
}

TEST(Statistics, NoneWhereNoneAreAsked) {
  const std::vector<Record> records = {numbers({1, 2})};
  const Signature none = fitted({SeriesInput{1, 0, Standardize::none}}, records);
  EXPECT_TRUE(none.mean.empty() && none.deviation.empty());
  expect_near(Encoder(none).encode(records[0]).values, {1, 2}, 0);
  EXPECT_TRUE(fitted({TextInput{}}, {text("a")}).mean.empty());
  EXPECT_TRUE(fitted({SeriesInput{}}, {}).mean.empty());

  Signature again = fitted({SeriesInput{}}, records);
  EXPECT_EQ(again.mean.size(), 1U);
  again.input.input = TextInput{};
  fit_statistics(again, Part(records));  // those of before are gone
  EXPECT_TRUE(again.mean.empty() && again.deviation.empty());
}

}  // namespace
}  // namespace mega::data
