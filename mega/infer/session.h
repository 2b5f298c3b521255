// A session of a language model: its state after reading or generating a text.
//
//   const auto model = LanguageModel::open("model.safetensors");
//   Session session(model, std::make_shared<ThreadPool>());
//   session.feed(tokens);
//   const int32_t next = sampler.draw(session.logits(), tokens);
//
// A session is a value: a copy, or fork, continues independently from the same position. With chunked
// attention, memory does not grow with the text. Different sessions of one model may be used concurrently
// from several threads; a single session is not thread-safe.
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

  // Feeding a text in any number of pieces gives the same result up to rounding. A call that fails leaves the
  // session unchanged.
  void feed(std::span<const int32_t> tokens) override;
  std::span<const float> logits() override;
  int64_t position() const override { return state_.position; }

  // Reads tokens like feed; out[i] is log p of next[i] after tokens[0 .. i] and all before them.
  void score(std::span<const int32_t> tokens, std::span<const int32_t> next, std::span<float> out);

  Session fork() const { return *this; }

  // Size of the state in bytes.
  int64_t bytes() const { return state_.bytes(); }

  // One file, written atomically. Loading a damaged file, or one of another model or version, is an Error.
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
  std::vector<float> logits_;    // empty until requested
};

// Feeds many sessions of one model in one batch, tokens[i] to sessions[i]: weights are read once for all.
// Uses the thread pool of the first session. Sessions must be distinct. If it fails, no session has changed.
void feed_together(std::span<Session* const> sessions, std::span<const std::span<const int32_t>> tokens);

// Computes the logits of many sessions of one model in one batch and stores them in each session: the output
// layer is read once for all.
void predict_together(std::span<Session* const> sessions);

}  // namespace mega::infer
