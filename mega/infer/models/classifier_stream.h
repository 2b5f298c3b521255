// A classifier that listens: endless input, of which it says every so many positions what it is.
//
//   ClassifierStream stream(Classifier::open("model.safetensors"), std::make_shared<ThreadPool>(), options);
//   stream.feed(samples, [&](int64_t position, std::span<const float> outputs) { ... });
//
// The state goes on from position to position, so a decision costs nothing but the head. Memory does not grow
// where the model attends in chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mega/infer/models/classifier.h"
#include "mega/infer/session.h"
#include "mega/infer/thread_pool.h"
#include "mega/infer/workspace.h"

namespace mega::infer {

struct ClassifierStreamOptions {
  int64_t every = 1000;  // positions from one decision to the next
  // Positions that a decision is about, rounded up to a multiple of `every`; 0: all from the beginning, which
  // is what the classifier says of the whole.
  int64_t window = 0;
  CacheType cache = CacheType::f32;
};

class ClassifierStream {
 public:
  // Gets what Classifier::outputs gives, after so many positions.
  using Decide = std::function<void(int64_t position, std::span<const float> outputs)>;

  // Error where the model does not see the past alone, or does not take the mean over positions.
  ClassifierStream(std::shared_ptr<const Classifier> model, std::shared_ptr<ThreadPool> pool,
                   const ClassifierStreamOptions& options);

  // The next positions: tokens, or numbers as the model was trained on them (standardised), with the channels
  // of a position together. Any cut gives the same up to rounding. Where the input is not the model's, it is
  // an Error, and nothing has been read.
  void feed(std::span<const int32_t> tokens, const Decide& decide);
  void feed(std::span<const float> values, const Decide& decide);

  // What the model says now, also between two decisions: of up to one `every` less than the window.
  std::vector<float> outputs();

  int64_t position() const { return state_.position; }
  int64_t window() const { return intervals_ * every_; }

  // Bytes of the state and of what is kept of the window.
  int64_t bytes() const;

 private:
  // Features of at most `every` positions; of all where the window is.
  struct Interval {
    std::vector<double> sums;  // (D)
    int64_t positions = 0;
  };

  void read(const SequenceView& all, const Decide& decide);
  void add(const float* features);

  std::shared_ptr<const Classifier> model_;
  std::shared_ptr<ThreadPool> pool_;
  int64_t every_, intervals_;  // of a window; 0: all are one
  Workspace work_;
  State state_;
  std::vector<Interval> ring_;
  size_t current_ = 0;  // the interval that is being filled
};

}  // namespace mega::infer
