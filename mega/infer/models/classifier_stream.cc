#include "mega/infer/models/classifier_stream.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/infer/layers/check_tokens.h"

namespace mega::infer {
namespace {

// Positions per piece: enough for full speed, with bounded memory.
constexpr int64_t kPiece = 512;
constexpr int64_t kMost = int64_t{1} << 40;

State initial_state(const Classifier& model, CacheType cache) {
  const std::string obstacle = why_not_streaming(model.options(), model.documents());
  require(obstacle.empty(), obstacle);
  return model.initial_state(weight_type(cache));
}

}  // namespace

std::string why_not_streaming(const EncoderClassifierOptions& options, int64_t documents) {
  if (documents != 1) return "a matcher compares two whole texts and cannot stream";
  if (options.pooling != Pooling::mean)
    return "pooling = cls uses the first position, which does not depend on later input: streaming needs a "
           "model with pooling = mean";
  if (!options.block.causal || options.block.ema.bidirectional)
    return "this model cannot stream, because it is not causal: streaming needs a model with causal = true "
           "and ema.bidirectional = false";
  return "";
}

ClassifierStream::ClassifierStream(std::shared_ptr<const Classifier> model, std::shared_ptr<ThreadPool> pool,
                                   const ClassifierStreamOptions& options)
    : model_(std::move(model)),
      pool_(std::move(pool)),
      every_(options.every),
      intervals_(0),
      state_(initial_state(*model_, options.cache)) {
  require(pool_ != nullptr, "a stream needs a thread pool");
  require(every_ >= 1 && every_ <= kMost, "a decision every ", every_, " positions: expected 1 to ", kMost);
  require(options.window >= 0 && options.window <= kMost, "a window of ", options.window,
          " positions: expected 0 to ", kMost);
  intervals_ = (options.window + every_ - 1) / every_;
}

void ClassifierStream::feed(std::span<const int32_t> tokens, const Decide& decide) {
  const EncoderClassifierOptions& options = model_->options();
  require(options.input == InputKind::tokens, "this model reads ", to_string(options.input), ", not tokens");
  check_tokens(tokens, options.vocabulary);
  read({tokens, {}, std::ssize(tokens)}, decide);
}

void ClassifierStream::feed(std::span<const float> values, const Decide& decide) {
  const EncoderClassifierOptions& options = model_->options();
  require(options.input != InputKind::tokens, "this model reads tokens, not real numbers");
  require(std::ssize(values) % options.channels == 0, values.size(), " numbers are not a multiple of the ",
          options.channels, " channels of a position");
  // A NaN or infinity would stay in the EMA state forever.
  for (const float x : values)
    require(std::isfinite(x), "the input contains ", x, ": expected finite numbers");
  read({{}, values, std::ssize(values) / options.channels}, decide);
}

void ClassifierStream::read(const SequenceView& all, const Decide& decide) {
  const auto part = [](auto numbers, int64_t begin, int64_t count) {
    return numbers.empty() ? numbers
                           : numbers.subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
  };
  const int64_t channels = model_->options().channels;
  int64_t position = state_.position;
  for (int64_t begin = 0; begin < all.length; begin += kPiece) {
    const int64_t count = std::min(kPiece, all.length - begin);
    const SequenceView piece{part(all.tokens, begin, count),
                             part(all.values, begin * channels, count * channels), count};
    const kernels::Rows features = model_->read(piece, {&state_, 0, count}, {*pool_, work_});
    for (int64_t row = 0; row < count; ++row) {
      add(features[row]);
      if (++position % every_ == 0) decide(position, outputs());
    }
  }
}

void ClassifierStream::add(const float* features) {
  const auto width = static_cast<size_t>(model_->options().block.width);
  if (ring_.empty()) {
    ring_.push_back({std::vector<double>(width), 0});
  } else if (intervals_ > 0 && ring_[current_].positions == every_) {
    current_ = (current_ + 1) % static_cast<size_t>(intervals_);
    if (current_ == ring_.size()) ring_.emplace_back();
    ring_[current_] = {std::vector<double>(width), 0};  // replaces the oldest
  }
  Interval& interval = ring_[current_];
  for (size_t c = 0; c < width; ++c) interval.sums[c] += static_cast<double>(features[c]);
  ++interval.positions;
}

std::vector<float> ClassifierStream::outputs() {
  require(!ring_.empty(), "no outputs before the first position: feed something first");
  // Recomputed each time: a running sum would accumulate rounding errors without bound.
  std::vector<double> sums(static_cast<size_t>(model_->options().block.width));
  int64_t positions = 0;
  for (const Interval& interval : ring_) {
    for (size_t c = 0; c < sums.size(); ++c) sums[c] += interval.sums[c];
    positions += interval.positions;
  }
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(positions)));
  return model_->classify(mean, {*pool_, work_});
}

int64_t ClassifierStream::bytes() const {
  const auto width = static_cast<size_t>(model_->options().block.width);
  return state_.bytes() + static_cast<int64_t>(ring_.size() * (sizeof(Interval) + width * sizeof(double)));
}

}  // namespace mega::infer
