// A text that a language model reads, or writes: the model's state in it.
//
//   const auto model = LanguageModel::open("model.safetensors");
//   Session session(model, std::make_shared<ThreadPool>());
//   session.feed(tokens);
//   const int32_t next = sampler.draw(session.logits(), tokens);
//
// A session is a value: a copy, or fork, goes its own way from the same place. Memory does not grow with the
// text where the model attends in chunks. Sessions of one model may be used on several threads at once, each
// on one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "mega/infer/generation/predictor.h"
#include "mega/infer/models/language_model.h"
#include "mega/infer/state.h"
#include "mega/infer/thread_pool.h"
#include "mega/infer/workspace.h"

namespace mega::infer {

class Session : public Predictor {
 public:
  Session(std::shared_ptr<const LanguageModel> model, std::shared_ptr<ThreadPool> pool,
          CacheType cache = CacheType::f32);
  Session(const Session& other);
  Session& operator=(const Session& other) { return *this = Session(other); }
  Session(Session&&) = default;
  Session& operator=(Session&&) = default;

  // What is fed in any number of cuts gives the same up to rounding. A call that fails leaves the session as
  // it was.
  void feed(std::span<const int32_t> tokens) override;
  std::span<const float> logits() override;
  int64_t position() const override { return state_.position; }

  // Reads tokens like feed; out[i] is log p of next[i] after tokens[0 .. i] and all before them.
  void score(std::span<const int32_t> tokens, std::span<const int32_t> next, std::span<float> out);

  Session fork() const { return *this; }

  // Bytes of the state.
  int64_t bytes() const { return state_.bytes(); }

  // One file, written whole or not at all. Loading one of another model, another version, or a damaged one is
  // an Error.
  void save(const std::filesystem::path& path) const;
  static Session load(const std::filesystem::path& path, std::shared_ptr<const LanguageModel> model,
                      std::shared_ptr<ThreadPool> pool);

  const LanguageModel& model() const { return *model_; }

 private:
  friend void feed_together(std::span<Session* const> sessions,
                            std::span<const std::span<const int32_t>> tokens);
  friend void predict_together(std::span<Session* const> sessions);

  void check_room(int64_t tokens) const;
  void keep_features(const float* row);

  std::shared_ptr<const LanguageModel> model_;
  std::shared_ptr<ThreadPool> pool_;
  std::unique_ptr<Workspace> work_;
  State state_;
  std::vector<float> features_;  // (D) of the last token; empty before the first
  std::vector<float> logits_;    // empty until somebody asks
};

// Feeds many sessions of one model at once, tokens[i] to sessions[i]: weights are read once for all of them.
// All use the first one's threads. A session must not be there twice. If it fails, no session has changed.
void feed_together(std::span<Session* const> sessions, std::span<const std::span<const int32_t>> tokens);

// Computes the logits of many sessions of one model at once, which each of them then has: the output layer is
// read once for all of them.
void predict_together(std::span<Session* const> sessions);

}  // namespace mega::infer
