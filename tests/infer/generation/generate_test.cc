#include "mega/infer/generation/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;

const std::vector<std::string> kWords = {"the", "cat", "sat", "\xE2\x82", "\xAC"};
constexpr int32_t kThe = 4, kCat = 5, kSat = 6, kFirstHalf = 7, kSecondHalf = 8;

// Words with a space before them except at the beginning of a line; the last two are halves of a character.
class Words : public Tokenizer {
 public:
  int64_t size() const override { return kFirstSymbol + std::ssize(kWords); }
  void encode_line(std::string_view, std::vector<int32_t>&) const override { fail("not needed"); }
  std::string symbol_text(int32_t token, bool begins_line) const override {
    if (token == kEnd) return "\n";
    const std::string& word = kWords.at(static_cast<size_t>(token - kFirstSymbol));
    return (begins_line || token >= kFirstHalf ? "" : " ") + word;
  }
  std::string vocabulary() const override { return ""; }
};

// Predicts the tokens of a script by position, whatever it is fed: each with probability 3/4; the rest goes
// to <s>, which is never sampled.
class Scripted : public Predictor {
 public:
  explicit Scripted(std::vector<int32_t> script, int64_t types = Words().size())
      : script_(std::move(script)), logits_(static_cast<size_t>(types)) {}

  void feed(std::span<const int32_t> tokens) override {
    fed.insert(fed.end(), tokens.begin(), tokens.end());
    ++feeds;
  }
  std::span<const float> logits() override {
    require(!fed.empty(), "nothing was fed");
    std::fill(logits_.begin(), logits_.end(), -std::numeric_limits<float>::infinity());
    logits_[kStart] = 5.0F;
    logits_.at(static_cast<size_t>(script_.at(drawn_++))) = 5.0F + std::log(3.0F);
    return logits_;
  }
  int64_t position() const override { return std::ssize(fed); }

  std::vector<int32_t> fed;
  int feeds = 0;

 private:
  std::vector<int32_t> script_;
  std::vector<float> logits_;
  size_t drawn_ = 0;
};

GenerateOptions at_most(int64_t tokens, std::vector<std::string> stop = {}) {
  GenerateOptions options;
  options.max_tokens = tokens;
  options.stop = std::move(stop);
  return options;
}

bool go_on(std::string_view) { return true; }

TEST(Generate, ReadsThePromptThenGenerates) {
  Scripted predictor({kCat, kSat, kEnd, kThe, kFirstHalf, kSecondHalf});
  std::vector<std::string> pieces;
  const std::vector<int32_t> prompt = {kThe};
  const GenerateResult result = generate(predictor, Words(), prompt, at_most(6), [&](std::string_view text) {
    pieces.emplace_back(text);
    return true;
  });
  EXPECT_EQ(result.text, " cat sat\nthe\u20ac");
  EXPECT_EQ(pieces, (std::vector<std::string>{"", " cat", " sat", "\n", "the", "", "\u20ac"}));
  EXPECT_EQ(result.tokens, (std::vector<int32_t>{kCat, kSat, kEnd, kThe, kFirstHalf, kSecondHalf}));
  EXPECT_EQ(predictor.fed,
            (std::vector<int32_t>{kEnd, kThe, kCat, kSat, kEnd, kThe, kFirstHalf, kSecondHalf}));
  EXPECT_EQ(result.reason, StopReason::max_tokens);
  EXPECT_NEAR(result.mean_log_probability, std::log(0.75), 1e-6);
  EXPECT_GE(result.prompt_seconds, 0.0);
  EXPECT_GE(result.seconds, 0.0);
}

TEST(Generate, StartsALineWithoutAPrompt) {
  Scripted predictor({kThe, kCat});
  EXPECT_EQ(generate(predictor, Words(), {}, at_most(2), go_on).text, "the cat");
  EXPECT_EQ(predictor.fed, (std::vector<int32_t>{kEnd, kThe, kCat}));
}

TEST(Generate, ContinuesFromThePredictorsPosition) {
  Scripted predictor({kCat, kSat, kThe});
  predictor.feed(std::vector<int32_t>{kEnd, kThe});
  EXPECT_EQ(generate(predictor, Words(), {}, at_most(2), go_on).text, " cat sat");
  const std::vector<int32_t> newline = {kEnd};
  EXPECT_EQ(generate(predictor, Words(), newline, at_most(1), go_on).text, "the");
  EXPECT_EQ(predictor.fed, (std::vector<int32_t>{kEnd, kThe, kCat, kSat, kEnd, kThe}));
}

TEST(Generate, EndsAtAStopString) {
  Scripted predictor({kThe, kCat, kSat, kThe});
  const GenerateResult result = generate(predictor, Words(), {}, at_most(9, {"t s"}), go_on);
  EXPECT_EQ(result.text, "the ca");
  EXPECT_EQ(result.reason, StopReason::stop_string);
  EXPECT_EQ(result.tokens.size(), 3u);
  EXPECT_EQ(predictor.position(), 4);  // including the tokens of the stop string
}

TEST(Generate, WritesHeldBackTextAtTheEnd) {
  Scripted predictor({kThe, kFirstHalf});
  std::string written;
  const GenerateResult result = generate(predictor, Words(), {}, at_most(2, {"e\xE2\x82."}), [&](auto text) {
    written += text;
    return true;
  });
  EXPECT_EQ(written, "the\xE2\x82");
  EXPECT_EQ(result.text, written);
  EXPECT_EQ(result.reason, StopReason::max_tokens);
}

TEST(Generate, StopsIfTheWriterReturnsFalse) {
  Scripted predictor({kThe, kCat, kSat});
  int calls = 0;
  const GenerateResult result =
      generate(predictor, Words(), {}, at_most(3), [&](std::string_view) { return ++calls < 2; });
  EXPECT_EQ(result.text, "the cat");
  EXPECT_EQ(result.reason, StopReason::interrupted);
  EXPECT_EQ(predictor.fed, (std::vector<int32_t>{kEnd, kThe, kCat}));
}

TEST(Generate, LongPromptsCanBeInterrupted) {
  const std::vector<int32_t> prompt(10'000, kCat);
  Scripted predictor({kThe});
  const GenerateResult result =
      generate(predictor, Words(), prompt, at_most(1), [](std::string_view) { return false; });
  EXPECT_EQ(result.reason, StopReason::interrupted);
  EXPECT_TRUE(result.tokens.empty());
  EXPECT_EQ(result.mean_log_probability, 0.0);
  EXPECT_LT(predictor.position(), 2000);

  Scripted patient({kThe});
  EXPECT_EQ(generate(patient, Words(), prompt, at_most(1), go_on).text, " the");
  EXPECT_EQ(patient.position(), 10'002);
  EXPECT_LT(patient.feeds, 20);
}

TEST(Generate, ZeroTokensOnlyReadsThePrompt) {
  Scripted predictor({});
  const GenerateResult result = generate(predictor, Words(), std::vector<int32_t>{kThe}, at_most(0), go_on);
  EXPECT_EQ(predictor.fed, (std::vector<int32_t>{kEnd, kThe}));
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(result.reason, StopReason::max_tokens);
}

TEST(Generate, PromptIsPartOfTheHistory) {
  // Equal logits: the first is sampled, unless it is penalised because it is in the prompt.
  class Undecided : public Scripted {
   public:
    Undecided() : Scripted({}) {}
    std::span<const float> logits() override { return logits_; }

   private:
    std::vector<float> logits_ = {-1e9F, -1e9F, -1e9F, -1e9F, 1, 1, 1, -1e9F, -1e9F};
  } predictor;
  GenerateOptions options = at_most(2);
  options.sampler.temperature = 0;
  options.sampler.repetition_penalty = 2;
  EXPECT_EQ(generate(predictor, Words(), std::vector<int32_t>{kThe}, options, go_on).text, " cat sat");
}

TEST(Generate, NeverSamplesTokensWithoutText) {
  Scripted larger({kThe}, Words().size() + 3);
  EXPECT_EQ(generate(larger, Words(), {}, at_most(1), go_on).text, "the");
  Scripted beyond({static_cast<int32_t>(Words().size())}, Words().size() + 3);
  EXPECT_PRED2(contains, error_of([&] { generate(beyond, Words(), {}, at_most(1), go_on); }), "none is left");
  Scripted smaller({kThe}, Words().size() - 1);
  EXPECT_PRED2(contains, error_of([&] { generate(smaller, Words(), {}, at_most(1), go_on); }),
               "do not belong together");
}

TEST(Generate, InvalidRequestsFailBeforeReading) {
  Scripted predictor({kThe});
  for (const int32_t token : {-1, 9}) {
    const auto ask = [&] { generate(predictor, Words(), std::vector<int32_t>{token}, at_most(1), go_on); };
    EXPECT_PRED2(contains, error_of(ask), "expected 0 to 8");
  }
  EXPECT_PRED2(contains, error_of([&] { generate(predictor, Words(), {}, at_most(-1), go_on); }),
               "max_tokens");
  EXPECT_PRED2(contains, error_of([&] { generate(predictor, Words(), {}, at_most(1, {""}), go_on); }),
               "stop string is empty");
  GenerateOptions options;
  set_option(options, "sampler.top_p=0.5");
  options.sampler.top_p = 3;
  EXPECT_PRED2(contains, error_of([&] { generate(predictor, Words(), {}, options, go_on); }),
               "sampler.top_p");
  EXPECT_TRUE(predictor.fed.empty());
}

TEST(Generate, ReasonsHaveNames) {
  EXPECT_EQ(to_string(StopReason::max_tokens), "max_tokens");
  EXPECT_EQ(to_string(StopReason::stop_string), "stop_string");
  EXPECT_EQ(to_string(StopReason::interrupted), "interrupted");
}

}  // namespace
}  // namespace mega::infer
