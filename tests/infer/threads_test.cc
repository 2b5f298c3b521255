// Concurrent sessions of one model on several threads with one pool give the same results as alone.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "mega/infer/session.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

constexpr size_t kSessions = 8, kThreads = 4;

std::vector<int32_t> tokens_of(size_t session) {
  std::vector<int32_t> tokens = {2};
  for (size_t i = 0; i < 60; ++i) tokens.push_back(static_cast<int32_t>(4 + (i * 17 + session * 29) % 250));
  return tokens;
}

// Logits of a session after each piece of its text: long pieces, single tokens, forks.
std::vector<float> read(Session& session, size_t number) {
  const std::vector<int32_t> tokens = tokens_of(number);
  std::vector<float> all;
  const auto keep = [&](Session& which) {
    const auto logits = which.logits();
    all.insert(all.end(), logits.begin(), logits.end());
  };
  const std::span<const int32_t> text(tokens);
  session.feed(text.first(20));
  keep(session);
  for (size_t i = 20; i < 40; ++i) session.feed(text.subspan(i, 1));
  keep(session);
  Session fork = session.fork();
  fork.feed(text.subspan(40, 7));
  keep(fork);
  session.feed(text.subspan(40));
  keep(session);
  return all;
}

TEST(Threads, ConcurrentSessionsAreIndependent) {
  const testing::ScratchFolder folder;
  LanguageModelOptions options = testing::tiny_language_model();
  options.block.width = 96;  // enough work for several threads
  options.block.values = 160;
  for (const int64_t chunk : {13, -1}) {
    options.block.chunk = chunk;
    testing::write_random_model(folder / "model", {options});

    std::vector<std::vector<float>> expected;
    {
      const auto model = LanguageModel::open(folder / "model");
      const auto alone = std::make_shared<ThreadPool>(1);
      for (size_t i = 0; i < kSessions; ++i) {
        Session session(model, alone);
        expected.push_back(read(session, i));
      }
    }

    // A new model: several threads trigger its lazy initialisation at once.
    const auto model = LanguageModel::open(folder / "model");
    const auto pool = std::make_shared<ThreadPool>(static_cast<int>(kThreads));
    std::vector<Session> sessions;
    for (size_t i = 0; i < kSessions; ++i) sessions.emplace_back(model, pool);
    std::vector<std::vector<float>> actual(kSessions);
    std::vector<uint64_t> fingerprints(kThreads);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (size_t i = t; i < kSessions; i += kThreads) actual[i] = read(sessions[i], i);
        fingerprints[t] = model->fingerprint();
      });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < kSessions; ++i) EXPECT_EQ(actual[i], expected[i]) << "session " << i;
    for (const uint64_t each : fingerprints) EXPECT_EQ(each, model->fingerprint());
  }
}

// One thread writes a file that others load.
TEST(Threads, StatesCanBeLoadedOnOtherThreads) {
  const testing::ScratchFolder folder;
  testing::write_random_model(folder / "model", {testing::tiny_language_model()});
  const auto model = LanguageModel::open(folder / "model");
  const auto pool = std::make_shared<ThreadPool>(2);
  Session origin(model, pool);
  origin.feed(tokens_of(0));
  origin.save(folder / "state");
  std::vector<std::vector<float>> loaded(kThreads);
  std::vector<std::thread> threads;
  for (auto& own : loaded)
    threads.emplace_back([&] {
      Session session = Session::load(folder / "state", model, pool);
      const auto logits = session.logits();
      own.assign(logits.begin(), logits.end());
    });
  for (std::thread& thread : threads) thread.join();
  const auto expected = origin.logits();
  for (const auto& own : loaded) EXPECT_EQ(own, std::vector<float>(expected.begin(), expected.end()));
}

}  // namespace
}  // namespace mega::infer
