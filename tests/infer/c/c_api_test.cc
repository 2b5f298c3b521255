// The C interface, compared with the same models through the C++ interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/base/system/child_process.h"
#include "mega/base/utf8.h"
#include "mega/base/version.h"
#include "mega/infer/generation/generate.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/session.h"
#include "mega/mega.h"
#include "tests/base/helpers.h"
#include "tests/infer/c/c_handle.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::ScratchFolder;

using Model = Handle<mega_model, mega_model_close>;
using CSession = Handle<mega_session, mega_session_free>;
using Generation = Handle<mega_generation, mega_generation_free>;
using CSampler = Handle<mega_sampler, mega_sampler_free>;

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
  Generation generation(const CSession& session, const std::string& prompt, const mega_sampling* sampling,
                        int64_t max_tokens, const std::vector<const char*>& stop = {}) {
    mega_generation* made = nullptr;
    EXPECT_EQ(mega_generation_new(session.get(), prompt.data(), prompt.size(), sampling, max_tokens,
                                  stop.data(), stop.size(), &made, &error_),
              MEGA_OK)
        << error_.message;
    return Generation(made);
  }
  // All pieces to the end, each of which is valid text.
  std::string text(const Generation& generation) {
    std::string all;
    const char* piece = nullptr;
    size_t bytes = 0;
    do {
      EXPECT_EQ(mega_generation_next(generation.get(), &piece, &bytes, &error_), MEGA_OK) << error_.message;
      const std::string one(piece, bytes);
      EXPECT_EQ(valid_utf8(one), one);
      all += one;
    } while (bytes > 0);
    return all;
  }
  // What the library generates.
  GenerateResult expected(const std::string& prompt, const GenerateOptions& options) const {
    Session session(LanguageModel::open(path_), std::make_shared<ThreadPool>(1));
    const Tokenizer& tokenizer = session.model().tokenizer();
    return generate(session, tokenizer, tokenizer.encode(prompt), options, [](auto) { return true; });
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

TEST_F(CApiTest, RunDirectories) {
  const std::filesystem::path run = folder_ / "run", empty = folder_ / "empty";
  std::filesystem::create_directory(run);
  std::filesystem::create_directory(empty);
  std::filesystem::copy(path_, run / "model.safetensors");
  mega_model* model = nullptr;
  ASSERT_EQ(mega_model_open(run.c_str(), &model, &error_), MEGA_OK) << error_.message;
  EXPECT_EQ(mega_model_vocabulary(Model(model).get()), 264);
  mega_input input = -1;
  EXPECT_EQ(mega_input_of(run.c_str(), &input, &error_), MEGA_OK);
  EXPECT_EQ(input, MEGA_INPUT_LANGUAGE);

  EXPECT_PRED2(contains, message(mega_model_open(empty.c_str(), &model, &error_)), "no model.safetensors");
  mega_classifier* classifier = nullptr;
  EXPECT_PRED2(contains, message(mega_classifier_open(empty.c_str(), 1, &classifier, &error_)),
               "no model.safetensors");
  EXPECT_PRED2(contains, message(mega_classifier_open(run.c_str(), 1, &classifier, &error_)),
               "not a Mega classifier");
  EXPECT_PRED2(contains, message(mega_input_of((folder_ / "none").c_str(), &input, &error_)), "none");
  EXPECT_PRED2(contains, message(mega_input_of(nullptr, &input, &error_)), "NULL");
  EXPECT_PRED2(contains, message(mega_input_of(run.c_str(), nullptr, &error_)), "NULL");
}

TEST_F(CApiTest, GenerationEqualsThatOfTheLibrary) {
  GenerateOptions options;
  options.max_tokens = 60;
  for (const double temperature : {0.0, 0.7, 1.0}) {
    options.sampler.temperature = temperature;
    options.sampler.top_k = 50;
    options.sampler.top_p = 0.95;
    options.sampler.min_p = 0.001;
    options.sampler.repetition_penalty = 1.2;
    options.sampler.repetition_window = 10;
    options.sampler.seed = 7;
    const mega_sampling sampling = {1.2, 10, temperature, 50, 0.95, 0.001, 7};
    const CSession own = session();
    const Generation generated = generation(own, "Hello", &sampling, 60);
    EXPECT_EQ(text(generated), valid_utf8(expected("Hello", options).text));
    EXPECT_EQ(mega_generation_tokens(generated.get()), 60);
    EXPECT_EQ(mega_session_position(own.get()), 1 + 5 + 60);
    EXPECT_EQ(text(generated), "");  // the end stays the end
  }
  // Without a sampling: the default. MEGA_SAMPLING_DEFAULT is that, too.
  options = {};
  options.max_tokens = 20;
  const mega_sampling sampling = MEGA_SAMPLING_DEFAULT;
  const std::string wanted = valid_utf8(expected("", options).text);
  EXPECT_EQ(text(generation(session(), "", nullptr, 20)), wanted);
  EXPECT_EQ(text(generation(session(), "", &sampling, 20)), wanted);
}

TEST_F(CApiTest, GenerationsGoOnAndStop) {
  mega_sampling greedy = MEGA_SAMPLING_DEFAULT;
  greedy.temperature = 0;
  const std::string whole = text(generation(session(), "Hello", &greedy, 40));
  CSession one = session();
  const Generation first = generation(one, "Hello", &greedy, 15);
  const std::string beginning = text(first);
  const Generation second = generation(one, "", &greedy, 25);
  one.reset();  // a generation keeps what it needs
  model_.reset();
  EXPECT_EQ(valid_utf8(beginning + text(second)), whole);

  GenerateOptions options;
  options.max_tokens = 40;
  options.sampler.temperature = 0;
  const std::string all = expected("Hello", options).text;
  options.stop = {all.substr(20, 3)};
  mega_model* opened = nullptr;
  ASSERT_EQ(mega_model_open(path_.c_str(), &opened, &error_), MEGA_OK);
  model_.reset(opened);
  EXPECT_EQ(text(generation(session(), "Hello", &greedy, 40, {options.stop[0].c_str()})),
            valid_utf8(expected("Hello", options).text));
  EXPECT_EQ(text(generation(session(), "Hello", &greedy, 0)), "");
}

TEST_F(CApiTest, Samplers) {
  const std::vector<float> logits = {0, 0, 1, 0, 2, 5, 3};
  const auto make = [&](const mega_sampling& sampling) {
    mega_sampler* made = nullptr;
    EXPECT_EQ(mega_sampler_new(&sampling, &made, &error_), MEGA_OK) << error_.message;
    return CSampler(made);
  };
  const auto draw = [&](const CSampler& sampler, const std::vector<int32_t>& history = {}) {
    int32_t token = -1;
    EXPECT_EQ(mega_sampler_draw(sampler.get(), logits.data(), logits.size(), history.data(), history.size(),
                                &token, &error_),
              MEGA_OK)
        << error_.message;
    return token;
  };
  mega_sampling sampling = MEGA_SAMPLING_DEFAULT;
  const CSampler own = make(sampling);
  Sampler library(SamplerOptions{});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(draw(own), library.draw(logits, {}));
  sampling.temperature = 0;
  EXPECT_EQ(draw(make(sampling)), 5);
  sampling.repetition_penalty = 100;
  EXPECT_EQ(draw(make(sampling), {5}), 6);

  const CSampler hostile = make(sampling);
  const std::vector<int32_t> unknown = {-1};
  int32_t token = 0;
  EXPECT_PRED2(contains,
               message(mega_sampler_draw(hostile.get(), logits.data(), logits.size(), unknown.data(), 1,
                                         &token, &error_)),
               "token -1");
  const float nan = std::nanf("");
  EXPECT_PRED2(contains, message(mega_sampler_draw(hostile.get(), &nan, 1, nullptr, 0, &token, &error_)),
               "nan");
  EXPECT_PRED2(contains, message(mega_sampler_draw(hostile.get(), nullptr, 0, nullptr, 0, &token, &error_)),
               "none is left");
  EXPECT_PRED2(contains, message(mega_sampler_draw(hostile.get(), nullptr, 5, nullptr, 0, &token, &error_)),
               "NULL instead of logits");
  EXPECT_PRED2(
      contains,
      message(mega_sampler_draw(hostile.get(), logits.data(), SIZE_MAX, nullptr, 0, &token, &error_)),
      "no array has so many");
  EXPECT_PRED2(contains, message(mega_sampler_draw(nullptr, logits.data(), 7, nullptr, 0, &token, &error_)),
               "NULL instead of a sampler");
  EXPECT_PRED2(contains,
               message(mega_sampler_draw(hostile.get(), logits.data(), 7, nullptr, 0, nullptr, &error_)),
               "NULL instead of the output token");
}

TEST_F(CApiTest, InvalidGenerationsAreErrors) {
  const CSession own = session();
  mega_generation* made = reinterpret_cast<mega_generation*>(this);
  const auto refusal = [&](const mega_sampling* sampling, int64_t max_tokens,
                           const char* const* stop = nullptr, size_t stop_count = 0) {
    const std::string why = message(
        mega_generation_new(own.get(), "x", 1, sampling, max_tokens, stop, stop_count, &made, &error_));
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(mega_session_position(own.get()), 0) << why;
    return why;
  };
  mega_sampling sampling = MEGA_SAMPLING_DEFAULT;
  sampling.temperature = -1;
  EXPECT_PRED2(contains, refusal(&sampling, 5), "temperature");
  sampling.temperature = std::nan("");
  EXPECT_PRED2(contains, refusal(&sampling, 5), "temperature");
  sampling = {};  // all fields 0
  EXPECT_PRED2(contains, refusal(&sampling, 5), "repetition_penalty");
  sampling = MEGA_SAMPLING_DEFAULT;
  sampling.seed = -1;
  EXPECT_PRED2(contains, refusal(&sampling, 5), "seed");
  EXPECT_PRED2(contains, refusal(nullptr, -1), "max_tokens");
  EXPECT_PRED2(contains, refusal(nullptr, INT64_MAX), "max_tokens");
  const char* const empty[] = {""};
  EXPECT_PRED2(contains, refusal(nullptr, 5, empty, 1), "stop string is empty");
  const char* const none[] = {nullptr};
  EXPECT_PRED2(contains, refusal(nullptr, 5, none, 1), "NULL instead of a stop string");
  EXPECT_PRED2(contains, refusal(nullptr, 5, nullptr, 3), "NULL instead of stop strings");
  EXPECT_PRED2(contains, refusal(nullptr, 5, empty, SIZE_MAX), "no array has so many");

  const auto begin = [&](mega_session* session, const char* prompt, size_t bytes, mega_generation** out) {
    return message(mega_generation_new(session, prompt, bytes, nullptr, 5, nullptr, 0, out, &error_));
  };
  EXPECT_PRED2(contains, begin(nullptr, "x", 1, &made), "NULL instead of a session");
  EXPECT_PRED2(contains, begin(own.get(), nullptr, 1, &made), "NULL instead of a prompt");
  EXPECT_PRED2(contains, begin(own.get(), "x", SIZE_MAX, &made), "no array has so many");
  EXPECT_PRED2(contains, begin(own.get(), "x", 1, nullptr), "NULL");

  const Generation good = generation(own, "x", nullptr, 5);
  const char* piece = nullptr;
  size_t bytes = 0;
  EXPECT_PRED2(contains, message(mega_generation_next(nullptr, &piece, &bytes, &error_)),
               "NULL instead of a generation");
  EXPECT_PRED2(contains, message(mega_generation_next(good.get(), nullptr, &bytes, &error_)), "NULL");
  EXPECT_PRED2(contains, message(mega_generation_next(good.get(), &piece, nullptr, &error_)), "NULL");
  EXPECT_EQ(mega_generation_tokens(good.get()), 0);
  mega_generation_free(nullptr);
  mega_sampler_free(nullptr);
}

TEST_F(CApiTest, NumbersOfNothingAreZero) {
  EXPECT_EQ(mega_model_vocabulary(nullptr), 0);
  EXPECT_EQ(mega_session_position(nullptr), 0);
  EXPECT_EQ(mega_session_bytes(nullptr), 0);
  EXPECT_EQ(mega_generation_tokens(nullptr), 0);
  EXPECT_EQ(mega_classifier_outputs(nullptr), 0);
  EXPECT_EQ(mega_classifier_documents(nullptr), 0);
  EXPECT_EQ(mega_classifier_input(nullptr), MEGA_INPUT_UNKNOWN);
  EXPECT_EQ(mega_classifier_rate(nullptr), 0);
  EXPECT_EQ(mega_classifier_channels(nullptr), 0);
  EXPECT_EQ(mega_classifier_height(nullptr), 0);
  EXPECT_EQ(mega_classifier_width(nullptr), 0);
  EXPECT_EQ(mega_classifier_can_stream(nullptr), 0);
  EXPECT_EQ(mega_classifier_class(nullptr, 0), nullptr);
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

TEST_F(CApiTest, ExampleProgramGenerates) {
  const auto end = run_program({MEGA_C_EXAMPLE, path_.string(), "Hello", "20"}, folder_.path());
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->ok) << end->how << ": " << end->output;
  EXPECT_TRUE(end->output.starts_with("Hello")) << end->output;

  GenerateOptions options;
  options.max_tokens = 20;
  options.sampler.temperature = 0;
  EXPECT_EQ(end->output, "Hello" + valid_utf8(expected("Hello", options).text) + "\n");

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
  EXPECT_GE(functions, 35);
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
