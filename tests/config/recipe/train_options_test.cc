#include "mega/config/recipe/train_options.h"

#include <gtest/gtest.h>

#include "mega/base/options/options_io.h"
#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using Unit = Period::Unit;

TEST(Period, CountsUpdatesEpochsOrSeconds) {
  const auto expect = [](const char* text, double count, Unit unit) {
    const Period period = parse_period(text);
    EXPECT_EQ(period.count, count) << text;
    EXPECT_EQ(period.unit, unit) << text;
  };
  expect("500u", 500, Unit::updates);
  expect("1e", 1, Unit::epochs);  // not a number in floating point
  expect("0.5e", 0.5, Unit::epochs);
  expect("1e3u", 1000, Unit::updates);
  expect("2e1e", 20, Unit::epochs);
  expect("90s", 90, Unit::seconds);
  expect("10m", 600, Unit::seconds);
  expect("1.5h", 5400, Unit::seconds);
  expect("2h", 7200, Unit::seconds);
  expect("", 0, Unit::never);
  expect("0", 0, Unit::never);
}

TEST(Period, SaysWhatIsExpected) {
  for (const char* bad : {"5", "u", "e", "-1u", "0u", "0e", "1d", "10 m", " 1e", "1e ", "1uu", "1e5", "infu",
                          "nanu", "1e300u", "1e999u", "0x10u", "often", "1,5h"})
    EXPECT_PRED2(
        contains, error_of([&] { parse_period(bad); }),
        "expected how often, as in 500u (updates), 1e (epochs), 30s, 10m or 2h, got " + in_quotes(bad));
  EXPECT_LT(error_of([] { parse_period(std::string(100000, '9')); }).size(), 1000U);
}

TEST(TrainOptions, FieldsFitEachOther) {
  TrainOptions options;
  EXPECT_NO_THROW(validate(options));
  options.warmup = options.updates + 1;
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "do not fit into 10000 updates");
  options = {};
  options.final_learning_rate = 1;
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "is above learning_rate");
  options = {};
  options.beta2 = 1;
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "below 1");
  options = {};
  options.blocks.min_chunks = options.blocks.max_chunks + 1;
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "blocks.min_chunks");
}

TEST(TrainOptions, PeriodsAreNamed) {
  TrainOptions options;
  options.evaluate = "sometimes";
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "train: evaluate: expected how often");
  options = {};
  options.checkpoint = "1d";
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "train: checkpoint: expected how often");
  for (const char* time : {"5", "5u", "1e", "soon", "-3m"}) {
    options = {};
    options.time = time;
    EXPECT_PRED2(contains, error_of([&] { validate(options); }),
                 "train: time: expected a duration such as 90s");
  }
}

TEST(TrainOptions, GroupsOfParametersComeFromToml) {
  TrainOptions options;
  options_from_toml(options, R"(
updates = 7
[[groups]]
names = "*.ema.*"
learning_rate = 0.1
[[groups]]
names = "head.*"
weight_decay = 0
)",
                    "recipe.toml");
  EXPECT_EQ(options.updates, 7);
  ASSERT_EQ(options.groups.size(), 2U);
  EXPECT_EQ(options.groups[0].names, "*.ema.*");
  EXPECT_EQ(options.groups[0].learning_rate, 0.1);
  EXPECT_EQ(options.groups[0].weight_decay, 1);
  EXPECT_EQ(options.groups[1].names, "head.*");
  EXPECT_EQ(options.groups[1].weight_decay, 0);
  EXPECT_NO_THROW(validate(options));

  const nlohmann::ordered_json json = options_to_json(options);
  TrainOptions again;
  options_from_json(again, nlohmann::json::parse(json.dump()));
  EXPECT_EQ(options_to_json(again), json);
}

TEST(TrainOptions, GroupsAreChecked) {
  const auto error = [](const char* toml) {
    return error_of([&] {
      TrainOptions options;
      options_from_toml(options, toml, "recipe.toml");
    });
  };
  EXPECT_PRED2(contains, error("[[groups]]\nname = \"a\""), "recipe.toml");
  EXPECT_PRED2(contains, error("[[groups]]\nname = \"a\""), "names");
  EXPECT_PRED2(contains, error("[[groups]]\nlearning_rate = -1"), "learning_rate");
  EXPECT_PRED2(contains, error("[groups]\nnames = \"a\""), "expected a list");
  EXPECT_PRED2(contains, error("groups = [\"a\"]"), "groups");

  TrainOptions options;
  options.groups.resize(2);
  options.groups[1].weight_decay = -1;
  EXPECT_PRED2(contains, error_of([&] { validate(options); }), "weight_decay");
}

TEST(InputOptions, RoundTripAndSayTheirStandardisation) {
  for (const char* kind : {"text", "image", "audio", "series"}) {
    InputOptions options;
    set_option(options, std::string("kind=") + kind);
    const nlohmann::ordered_json json = options_to_json(options);
    EXPECT_EQ(json["kind"], kind);
    InputOptions again;
    options_from_json(again, nlohmann::json::parse(json.dump()));
    EXPECT_EQ(options_to_json(again), json);
    EXPECT_EQ(channels_of(options), 1);
  }
  EXPECT_EQ(standardization({TextInput{}}), Standardize::none);
  EXPECT_EQ(standardization({ImageInput{}}), Standardize::none);
  EXPECT_EQ(standardization({AudioInput{1, 1, Standardize::position}}), Standardize::position);
  EXPECT_EQ(standardization({SeriesInput{3, 0, Standardize::channel}}), Standardize::channel);
  EXPECT_EQ(channels_of({SeriesInput{3, 0, Standardize::channel}}), 3);
}

TEST(DataOptions, RoundTripAndCheckTheirRanges) {
  DataOptions options;
  options_from_toml(options,
                    "format = \"auto\"\nheader = \"no\"\nclasses = [\"b\", \"a\"]\ntest_share = 0.2\n",
                    "recipe.toml");
  EXPECT_EQ(options.header, Header::no);
  EXPECT_EQ(options.classes, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(options.test_share, 0.2);
  DataOptions again;
  options_from_json(again, nlohmann::json::parse(options_to_json(options).dump()));
  EXPECT_EQ(options_to_json(again), options_to_json(options));
  for (const char* bad : {"test_share = 1.5", "valid_share = -0.1", "limit = -1", "classes = [1]",
                          "format = \"zip\"", "split_seed = -1"})
    EXPECT_PRED2(contains, error_of([&] { options_from_toml(options, bad, "recipe.toml"); }), "recipe.toml");
}

}  // namespace
}  // namespace mega
