// The C interface, compared with the same models through the C++ interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>

#include "mega/base/child_process.h"
#include "mega/base/file.h"
#include "mega/base/strings.h"
#include "mega/base/version.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/session.h"
#include "mega/mega.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::ScratchFolder;

template <auto close>
struct Close {
  void operator()(auto* handle) const { close(handle); }
};
using Model = std::unique_ptr<mega_model, Close<mega_model_close>>;
using CSession = std::unique_ptr<mega_session, Close<mega_session_free>>;
using CClassifier = std::unique_ptr<mega_classifier, Close<mega_classifier_close>>;

class CApiTest : public ::testing::Test {
 protected:
  CApiTest() {
    const Signature signature = testing::byte_signature();
    testing::write_random_model(path_, {testing::tiny_language_model()}, 1, &signature);
    mega_model* opened = nullptr;
    EXPECT_EQ(mega_model_open(path_.c_str(), &opened, &error_), MEGA_OK) << error_.message;
    model_.reset(opened);
  }

  CSession session(mega_cache cache = MEGA_CACHE_F32) {
    mega_session* made = nullptr;
    EXPECT_EQ(mega_session_new(model_.get(), 2, cache, &made, &error_), MEGA_OK) << error_.message;
    return CSession(made);
  }
  void feed(const CSession& session, const std::vector<int32_t>& tokens) {
    EXPECT_EQ(mega_session_feed(session.get(), tokens.data(), tokens.size(), &error_), MEGA_OK)
        << error_.message;
  }
  std::vector<float> logits(const CSession& session) {
    const float* data = nullptr;
    size_t count = 0;
    EXPECT_EQ(mega_session_logits(session.get(), &data, &count, &error_), MEGA_OK) << error_.message;
    return {data, data + count};
  }
  // The message of a call that must fail.
  std::string message(mega_status status, mega_status expected = MEGA_ERROR_REQUEST) {
    EXPECT_EQ(status, expected);
    return error_.message;
  }

  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_ / "model";
  mega_error error_{};
  Model model_;
};

TEST_F(CApiTest, Versions) {
  EXPECT_STREQ(mega_version(), version());
  EXPECT_EQ(mega_abi_version(), MEGA_ABI_VERSION);
}

TEST_F(CApiTest, TextAndTokens) {
  EXPECT_EQ(mega_model_vocabulary(model_.get()), 264);
  const std::string text("ab\nc\0d", 6);
  size_t count = 0;
  EXPECT_PRED2(
      contains,
      message(mega_model_tokenize(model_.get(), text.data(), text.size(), nullptr, 0, &count, &error_),
              MEGA_ERROR_ROOM),
      "6 tokens, but space for 0");
  ASSERT_EQ(count, 6u);
  std::vector<int32_t> tokens(count);
  EXPECT_EQ(
      mega_model_tokenize(model_.get(), text.data(), text.size(), tokens.data(), count, &count, nullptr),
      MEGA_OK);
  EXPECT_EQ(tokens[2], MEGA_TOKEN_END);

  std::string back(6, '?');
  size_t bytes = 0;
  EXPECT_EQ(mega_model_detokenize(model_.get(), tokens.data(), count, 1, back.data(), 5, &bytes, &error_),
            MEGA_ERROR_ROOM);
  EXPECT_EQ(bytes, 6u);
  EXPECT_EQ(back, "??????");
  EXPECT_EQ(mega_model_detokenize(model_.get(), tokens.data(), count, 1, back.data(), 6, &bytes, &error_),
            MEGA_OK);
  EXPECT_EQ(back, text);
  EXPECT_STREQ(error_.message, "");
  const int32_t none = 4000;
  EXPECT_PRED2(contains,
               message(mega_model_detokenize(model_.get(), &none, 1, 1, back.data(), 6, &bytes, &error_)),
               "token 4000");
}

TEST_F(CApiTest, SessionsEqualThoseOfTheLibrary) {
  const auto model = LanguageModel::open(path_);
  const std::vector<int32_t> tokens = {2, 70, 80, 90, 100, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81};
  for (const bool bf16 : {false, true}) {
    Session expected(model, std::make_shared<ThreadPool>(1), bf16 ? CacheType::bf16 : CacheType::f32);
    expected.feed(tokens);
    const CSession own = session(bf16 ? MEGA_CACHE_BF16 : MEGA_CACHE_F32);
    feed(own, tokens);
    const auto wanted = expected.logits();
    EXPECT_EQ(logits(own), std::vector<float>(wanted.begin(), wanted.end()));
    EXPECT_EQ(mega_session_position(own.get()), 16);
    EXPECT_EQ(mega_session_bytes(own.get()), expected.bytes());
  }
}

TEST_F(CApiTest, ForksAndFiles) {
  const CSession one = session(MEGA_CACHE_BF16);
  feed(one, {2, 70, 80, 90});
  mega_session *fork = nullptr, *loaded = nullptr;
  const std::string file = folder_ / "state";
  ASSERT_EQ(mega_session_fork(one.get(), &fork, &error_), MEGA_OK);
  const CSession two(fork);
  ASSERT_EQ(mega_session_save(one.get(), file.c_str(), &error_), MEGA_OK) << error_.message;
  ASSERT_EQ(mega_session_load(model_.get(), file.c_str(), 1, &loaded, &error_), MEGA_OK) << error_.message;
  const CSession three(loaded);
  EXPECT_EQ(logits(three), logits(one));
  feed(one, {100});
  feed(two, {101});
  feed(three, {101});
  EXPECT_EQ(logits(three), logits(two));
  EXPECT_NE(logits(one), logits(two));
}

TEST_F(CApiTest, SessionsOutliveTheirModel) {
  const CSession one = session();
  model_.reset();
  feed(one, {2, 70});
  EXPECT_EQ(logits(one).size(), 264u);
}

TEST_F(CApiTest, ManySessionsAtOnce) {
  const CSession a = session(), b = session(), alone = session();
  const std::vector<int32_t> first = {2, 70, 80}, second = {2, 90};
  mega_session* const sessions[] = {a.get(), b.get()};
  const int32_t* const tokens[] = {first.data(), second.data()};
  const size_t counts[] = {first.size(), second.size()};
  ASSERT_EQ(mega_sessions_feed(sessions, tokens, counts, 2, &error_), MEGA_OK) << error_.message;
  feed(alone, second);
  EXPECT_EQ(mega_session_position(a.get()), 3);
  const auto together = logits(b), by_itself = logits(alone);
  for (size_t i = 0; i < together.size(); ++i) EXPECT_NEAR(together[i], by_itself[i], 1e-5f);
  mega_session* const twice[] = {a.get(), a.get()};
  EXPECT_PRED2(contains, message(mega_sessions_feed(twice, tokens, counts, 2, &error_)), "fork it");
  EXPECT_EQ(mega_sessions_feed(nullptr, nullptr, nullptr, 0, &error_), MEGA_OK);
}

TEST_F(CApiTest, InvalidArgumentsAreErrors) {
  mega_model* model = reinterpret_cast<mega_model*>(this);
  EXPECT_PRED2(contains, message(mega_model_open((folder_ / "none").c_str(), &model, &error_)), "none");
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(mega_model_open((folder_ / "none").c_str(), &model, nullptr), MEGA_ERROR_REQUEST);
  EXPECT_PRED2(contains, message(mega_model_open(nullptr, &model, &error_)), "NULL instead of a path");
  EXPECT_PRED2(contains, message(mega_model_open(path_.c_str(), nullptr, &error_)), "NULL");

  mega_session* made = nullptr;
  EXPECT_PRED2(contains, message(mega_session_new(model_.get(), -1, 0, &made, &error_)), "threads");
  EXPECT_PRED2(contains, message(mega_session_new(model_.get(), 1, 9, &made, &error_)),
               "unknown cache type 9");
  EXPECT_PRED2(contains, message(mega_session_new(nullptr, 1, 0, &made, &error_)), "NULL");
  EXPECT_PRED2(contains, message(mega_session_load(model_.get(), path_.c_str(), 1, &made, &error_)),
               "a state of format");
  EXPECT_EQ(made, nullptr);

  const CSession own = session();
  const float* data = nullptr;
  size_t count = 0;
  EXPECT_PRED2(contains, message(mega_session_logits(own.get(), &data, &count, &error_)),
               "no logits before the first token");
  const int32_t bad[] = {2, 9999};
  EXPECT_PRED2(contains, message(mega_session_feed(own.get(), bad, 2, &error_)), "token 9999");
  EXPECT_PRED2(contains, message(mega_session_feed(own.get(), nullptr, 2, &error_)),
               "NULL instead of tokens");
  EXPECT_EQ(mega_session_position(own.get()), 0);
  EXPECT_EQ(mega_session_feed(own.get(), nullptr, 0, &error_), MEGA_OK);
  mega_model_close(nullptr);
  mega_session_free(nullptr);
  mega_classifier_close(nullptr);
}

TEST_F(CApiTest, LongMessagesAreTruncatedBetweenCharacters) {
  std::string path = folder_.path().string() + "/";
  while (path.size() < 3000) path += "\u00e9";
  mega_model* model = nullptr;
  const std::string text = message(mega_model_open(path.c_str(), &model, &error_));
  EXPECT_LT(text.size(), static_cast<size_t>(MEGA_ERROR_MESSAGE_SIZE));
  EXPECT_GE(text.size(), static_cast<size_t>(MEGA_ERROR_MESSAGE_SIZE - 2));
  EXPECT_EQ(text.substr(text.size() - 2), "\u00e9");
}

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

TEST_F(CClassifierTest, ModelWithoutSignature) {
  testing::write_random_model(path_, {testing::tiny_classifier()});
  mega_classifier* made = nullptr;
  ASSERT_EQ(mega_classifier_open(path_.c_str(), 1, &made, &error_), MEGA_OK) << error_.message;
  const CClassifier classifier(made);
  const char* const text = "x";
  const size_t bytes = 1;
  float outputs[3];
  EXPECT_EQ(mega_classify_bytes(classifier.get(), &text, &bytes, 1, outputs, 3, &error_), MEGA_ERROR_REQUEST);
  EXPECT_PRED2(contains, std::string(error_.message), "has no description of its input encoding");
}

TEST_F(CApiTest, ExampleProgramGenerates) {
  const auto end = run_program({MEGA_C_EXAMPLE, path_.string(), "Hello", "20"}, folder_.path());
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->ok) << end->how << ": " << end->output;
  EXPECT_TRUE(end->output.starts_with("Hello")) << end->output;

  // The same as the library's most likely tokens.
  Session session(LanguageModel::open(path_), std::make_shared<ThreadPool>(1));
  const Tokenizer& tokenizer = session.model().tokenizer();
  std::vector<int32_t> tokens = {MEGA_TOKEN_END};
  session.feed(tokens);
  session.feed(tokenizer.encode("Hello"));
  std::string text = "Hello";
  for (int i = 0; i < 20; ++i) {
    const auto logits = session.logits();
    const auto next = static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    if (next < tokenizer.size()) text += tokenizer.text(next, false);
    session.feed({&next, 1});
  }
  EXPECT_EQ(end->output, text + "\n");

  EXPECT_FALSE(run_program({MEGA_C_EXAMPLE, (folder_ / "none").string(), "x"}, folder_.path())->ok);
}

TEST(CLibrary, ExportsOnlyItsInterface) {
  const auto end = run_program({"nm", "--dynamic", "--defined-only", MEGA_C_LIBRARY}, "/");
  if (!end) GTEST_SKIP() << "nm is not installed";
  ASSERT_TRUE(end->ok) << end->output;
  int functions = 0;
  for (const std::string& line : split(end->output, '\n')) {
    if (line.empty()) continue;
    EXPECT_TRUE(contains(line, " T mega_") || contains(line, " A MEGA_ENGINE_1")) << line;
    ++functions;
  }
  EXPECT_GE(functions, 20);
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

TEST_F(CApiTest, WhatIsNotFiniteIsAnError) {
  const ModelOptions options{testing::tiny_language_model()};
  const testing::RandomWeights weights(options, 1);
  std::vector<TensorView> tensors = weights.tensors();
  std::vector<float> broken;
  for (TensorView& tensor : tensors) {
    if (!tensor.name.starts_with("decoder.layers.1.nffn.fc2.bias")) continue;
    broken.assign(static_cast<size_t>(tensor.elements()), std::nanf(""));
    tensor.data = std::as_bytes(std::span(broken));
  }
  ASSERT_FALSE(broken.empty());
  write_model_file(folder_ / "broken", options, tensors);
  mega_model* opened = nullptr;
  ASSERT_EQ(mega_model_open((folder_ / "broken").c_str(), &opened, &error_), MEGA_OK) << error_.message;
  const Model model(opened);
  mega_session* made = nullptr;
  ASSERT_EQ(mega_session_new(model.get(), 1, MEGA_CACHE_F32, &made, &error_), MEGA_OK);
  const CSession session(made);
  feed(session, {2});
  const float* logits = nullptr;
  size_t count = 0;
  EXPECT_PRED2(contains, message(mega_session_logits(session.get(), &logits, &count, &error_)), "not finite");
}

TEST_F(CApiTest, AFlippedBitIsAnError) {
  std::string bytes = read_file(path_);
  bytes[bytes.size() - 7] = static_cast<char>(bytes[bytes.size() - 7] ^ 4);
  write_file(folder_ / "flipped", bytes);
  mega_model* opened = nullptr;
  EXPECT_PRED2(contains, message(mega_model_open((folder_ / "flipped").c_str(), &opened, &error_)),
               "the checksum does not match");
}

}  // namespace
}  // namespace mega::infer
