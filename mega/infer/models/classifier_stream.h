// Classifies unbounded input: a decision every so many positions.
//
//   ClassifierStream stream(Classifier::open("model.safetensors"), std::make_shared<ThreadPool>(), options);
//   stream.feed(samples, [&](int64_t position, std::span<const float> outputs) { ... });
//
// The state is carried from position to position, so a decision costs only the head. With chunked attention,
// memory does not grow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mega/infer/models/classifier.h"
#include "mega/infer/session.h"
#include "mega/infer/thread_pool.h"
#include "mega/infer/workspace.h"

namespace mega::infer {

struct ClassifierStreamOptions {
  int64_t every = 1000;  // positions between decisions
  // Last positions that a decision covers, rounded up to a multiple of `every`; 0: all, as the classifier
  // does for a whole sequence.
  int64_t window = 0;
  CacheType cache = CacheType::f32;
};

// Why a model of these options that reads so many documents cannot stream, and what can; empty if it can.
std::string why_not_streaming(const EncoderClassifierOptions& options, int64_t documents);

class ClassifierStream {
 public:
  // Called with the position and the outputs, as of Classifier::outputs.
  using Decide = std::function<void(int64_t position, std::span<const float> outputs)>;

  // Error if the model is not causal or does not use mean pooling.
  ClassifierStream(std::shared_ptr<const Classifier> model, std::shared_ptr<ThreadPool> pool,
                   const ClassifierStreamOptions& options);

  // The next positions: tokens, or standardised numbers with the channels of a position contiguous. Any split
  // gives the same result up to rounding. Error, before anything is read, if the input is not of the model's
  // kind.
  void feed(std::span<const int32_t> tokens, const Decide& decide);
  void feed(std::span<const float> values, const Decide& decide);

  // The current outputs, also between two decisions: these cover up to `every` positions less than the
  // window.
  std::vector<float> outputs();

  int64_t position() const { return state_.position; }
  int64_t window() const { return intervals_ * every_; }

  // Size of the state and the window in bytes.
  int64_t bytes() const;

 private:
  // Sum of features over at most `every` positions; over all if the window is 0.
  struct Interval {
    std::vector<double> sums;  // (D)
    int64_t positions = 0;
  };

  void read(const SequenceView& all, const Decide& decide);
  void add(const float* features);

  std::shared_ptr<const Classifier> model_;
  std::shared_ptr<ThreadPool> pool_;
  int64_t every_, intervals_;  // intervals per window; 0: a single one for all
  Workspace work_;
  State state_;
  std::vector<Interval> ring_;
  size_t current_ = 0;  // the interval being filled
};

}  // namespace mega::infer
