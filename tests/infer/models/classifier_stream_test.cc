#include "mega/infer/models/classifier_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

ClassifierOptions causal_classifier() {
  ClassifierOptions options = testing::tiny_classifier();
  options.block.causal = true;
  options.block.ema.bidirectional = false;
  return options;
}

class Stream : public ::testing::Test {
 protected:
  std::shared_ptr<const Classifier> model(const ModelOptions& options) {
    testing::write_random_model(path_, options);
    return Classifier::open(path_);
  }
  std::string error(const ModelOptions& options) {
    const auto unfit = model(options);
    return error_of([&] { ClassifierStream(unfit, pool_, {}); });
  }
  std::vector<int32_t> tokens(int64_t count) {
    std::vector<int32_t> result;
    for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<int32_t>(random_() % 256));
    return result;
  }
  std::vector<float> values(int64_t count) {
    std::vector<float> result;
    for (int64_t i = 0; i < count; ++i) result.push_back(std::normal_distribution<float>()(random_));
    return result;
  }
  // Decisions by position, from input split into pieces of up to `longest` positions.
  template <class T>
  std::map<int64_t, std::vector<float>> decisions(ClassifierStream& stream, const std::vector<T>& input,
                                                  size_t longest, size_t channels = 1) {
    std::map<int64_t, std::vector<float>> result;
    for (size_t begin = 0; begin < input.size();) {
      const size_t count = std::min(channels * (random_() % (longest + 1)), input.size() - begin);
      stream.feed(std::span<const T>(input).subspan(begin, count),
                  [&](int64_t position, std::span<const float> outputs) {
                    EXPECT_TRUE(result.emplace(position, std::vector(outputs.begin(), outputs.end())).second);
                  });
      begin += count;
    }
    return result;
  }
  static void expect_near(const std::vector<float>& expected, const std::vector<float>& actual) {
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i], actual[i], 2e-5);
  }

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(2);
  Workspace work_;
  std::mt19937 random_{7};
};

TEST_F(Stream, EqualsTheClassifierOnPrefixes) {
  const auto reader = model({causal_classifier()});
  const std::vector<int32_t> text = tokens(700);  // more than one piece
  for (const size_t longest : {1u, 5u, 100u, 700u}) {
    ClassifierStream stream(reader, pool_, {.every = 7});
    const auto found = decisions(stream, text, longest);
    EXPECT_EQ(found.size(), 100u);
    EXPECT_EQ(stream.position(), 700);
    for (const auto& [position, outputs] : found) {
      EXPECT_EQ(position % 7, 0);
      const SequenceView whole{std::span(text).first(static_cast<size_t>(position)), {}, position};
      expect_near(reader->outputs({&whole, 1}, {*pool_, work_}), outputs);
    }
  }
}

TEST_F(Stream, EqualsTheClassifierOnNumbersWithChannels) {
  ClassifierOptions options = causal_classifier();
  options.input = InputKind::series;
  options.channels = 3;
  options.block.norm = NormKind::batch;
  options.block.prenorm = true;
  const auto reader = model({options});
  const std::vector<float> series = values(3 * 90);
  ClassifierStream stream(reader, pool_, {.every = 20});
  const auto found = decisions(stream, series, 11, 3);
  EXPECT_EQ(found.size(), 4u);
  for (const auto& [position, outputs] : found) {
    const SequenceView whole{{}, std::span(series).first(static_cast<size_t>(3 * position)), position};
    expect_near(reader->outputs({&whole, 1}, {*pool_, work_}), outputs);
  }
  const SequenceView all{{}, series, 90};  // also between decisions
  expect_near(reader->outputs({&all, 1}, {*pool_, work_}), stream.outputs());
}

TEST_F(Stream, WindowDropsOlderPositions) {
  const auto reader = model({causal_classifier()});
  const auto width = static_cast<size_t>(reader->options().block.width);
  const std::vector<int32_t> text = tokens(205);
  const SequenceView all{text, {}, 205};
  const kernels::Rows rows = reader->read(all, {nullptr, 0, 205}, {*pool_, work_});
  const std::vector<float> features(rows.data, rows.data + 205 * static_cast<int64_t>(width));
  const auto of_mean = [&](int64_t begin, int64_t end) {
    std::vector<float> mean(width);
    for (int64_t row = begin; row < end; ++row)
      for (size_t c = 0; c < width; ++c)
        mean[c] += features[static_cast<size_t>(row) * width + c] / static_cast<float>(end - begin);
    return reader->classify(mean, {*pool_, work_});
  };
  ClassifierStream stream(reader, pool_, {.every = 10, .window = 25});
  EXPECT_EQ(stream.window(), 30);
  for (const auto& [position, outputs] : decisions(stream, text, 40))
    expect_near(of_mean(std::max<int64_t>(0, position - 30), position), outputs);
  expect_near(of_mean(180, 205), stream.outputs());  // two intervals, and half of the third

  ClassifierStream shortest(reader, pool_, {.every = 50, .window = 1});
  EXPECT_EQ(shortest.window(), 50);
  for (const auto& [position, outputs] : decisions(shortest, text, 40))
    expect_near(of_mean(position - 50, position), outputs);
}

TEST_F(Stream, MemoryDoesNotGrow) {
  ClassifierOptions options = causal_classifier();
  options.layers = 1;
  options.block.width = options.block.values = options.block.hidden = 8;
  const auto reader = model({options});
  ClassifierStream stream(reader, pool_, {.every = 100, .window = 1000});
  const std::vector<int32_t> piece = tokens(1000);
  int64_t early = 0, late = 0, count = 0;
  for (int i = 0; i < 100; ++i)
    stream.feed(piece, [&](int64_t position, std::span<const float>) {
      int64_t& most = position <= 2000 ? early : late;
      most = std::max(most, stream.bytes());
      ++count;
    });
  EXPECT_EQ(count, 1000);
  EXPECT_EQ(stream.position(), 100'000);
  EXPECT_LE(late, early);
  EXPECT_LT(late, 100'000);
}

TEST_F(Stream, NeedsACausalModel) {
  ClassifierOptions options = causal_classifier();
  options.block.causal = false;
  EXPECT_PRED2(contains, error({options}), "causal = true");
  options.block.ema.bidirectional = true;
  EXPECT_PRED2(contains, error({options}), "ema.bidirectional = false");
  options = causal_classifier();
  options.pooling = Pooling::cls;
  EXPECT_PRED2(contains, error({options}), "pooling = mean");
  EXPECT_PRED2(contains, error({MatcherOptions{causal_classifier()}}), "matcher");
}

TEST_F(Stream, InvalidInputLeavesItUnchanged) {
  const auto reader = model({causal_classifier()});
  const auto error_with = [&](const ClassifierStreamOptions& options) {
    return error_of([&] { ClassifierStream(reader, pool_, options); });
  };
  EXPECT_PRED2(contains, error_with({.every = 0}), "every 0 positions");
  EXPECT_PRED2(contains, error_with({.window = -1}), "a window of -1");
  EXPECT_PRED2(contains, error_with({.window = std::numeric_limits<int64_t>::max()}), "a window of");
  EXPECT_PRED2(contains, error_of([&] { ClassifierStream(reader, nullptr, {}); }), "thread pool");

  ClassifierStream stream(reader, pool_, {.every = 2});
  const ClassifierStream::Decide never = [](int64_t, std::span<const float>) { ADD_FAILURE(); };
  std::vector<int32_t> beyond(1000, 1);
  beyond.back() = 264;
  EXPECT_PRED2(contains, error_of([&] { stream.feed(beyond, never); }), "token 264");
  EXPECT_PRED2(contains, error_of([&] { stream.feed(std::vector<float>{1.0f}, never); }), "reads tokens");
  EXPECT_PRED2(contains, error_of([&] { stream.outputs(); }), "no outputs before the first position");
  EXPECT_EQ(stream.position(), 0);

  ClassifierOptions options = causal_classifier();
  options.input = InputKind::series;
  options.channels = 2;
  const auto numbers = model({options});
  ClassifierStream other(numbers, pool_, {.every = 1});
  EXPECT_PRED2(contains, error_of([&] { other.feed(std::vector<int32_t>{1, 2}, never); }), "not tokens");
  EXPECT_PRED2(contains, error_of([&] { other.feed(std::vector<float>{1, 2, 3}, never); }), "2 channels");
  EXPECT_PRED2(contains, error_of([&] {
                 other.feed(std::vector<float>{1, std::nanf("")}, never);
               }),
               "expected finite numbers");
  EXPECT_EQ(other.position(), 0);
}

}  // namespace
}  // namespace mega::infer
