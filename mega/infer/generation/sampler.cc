#include "mega/infer/generation/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/base/error.h"
#include "mega/text/tokens.h"

namespace mega::infer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Up to this many best of 268 thousand candidates are found several times faster with a heap.
constexpr ptrdiff_t kFew = 1024;

// Rejects NaN and +inf.
void check_logits(std::span<const float> logits) {
  require(logits.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
          "sampler: ", logits.size(), " logits do not fit 32-bit token numbers");
  const auto bad = std::find_if_not(logits.begin(), logits.end(), [](float x) { return x < kInfinity; });
  if (bad == logits.end()) return;
  fail("sampler: the logit of token ", bad - logits.begin(), " is ", *bad,
       ": the model's weights are damaged, or training diverged");
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options)
    : options_(options), draws_(stream_seed(static_cast<uint64_t>(options.seed), "sampler")) {
  check_ranges(options, "sampler");
}

int32_t Sampler::draw(std::span<const float> logits, std::span<const int32_t> history) {
  check_logits(logits);
  logits_.assign(logits.begin(), logits.end());
  penalize(history);
  collect_candidates();
  if (options_.temperature == 0.0) {
    sort_best(1);
    return candidates_.front().token;
  }
  if (options_.top_k > 0) {
    const size_t count = std::min(static_cast<size_t>(options_.top_k), candidates_.size());
    sort_best(count);
    keep(count);
  }
  weigh();
  if (options_.top_p < 1.0) keep_top_p();
  if (options_.min_p > 0.0) keep_min_p();
  return draw_by_weight();
}

void Sampler::penalize(std::span<const int32_t> history) {
  if (options_.repetition_penalty == 1.0) return;
  const size_t window = std::min(static_cast<size_t>(options_.repetition_window), history.size());
  const auto recent = history.last(window);
  recent_.assign(recent.begin(), recent.end());
  std::sort(recent_.begin(), recent_.end());
  recent_.erase(std::unique(recent_.begin(), recent_.end()), recent_.end());
  const auto penalty = static_cast<float>(options_.repetition_penalty);
  for (const int32_t token : recent_) {
    require(token >= 0 && static_cast<size_t>(token) < logits_.size(), "sampler: token ", token,
            " of the history is not one of the model's ", logits_.size());
    float& logit = logits_[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

void Sampler::collect_candidates() {
  candidates_.clear();
  sorted_ = 0;
  for (size_t i = 0; i < logits_.size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    const bool banned = token == kStart || token == kPad || (token == kUnknown && !options_.allow_unknown);
    if (!banned && logits_[i] > -kInfinity) candidates_.push_back({logits_[i], token, 0.0});
  }
  require(!candidates_.empty(), "sampler: of ", logits_.size(),
          " logits none is left to sample: all are -inf, or belong to tokens that do not occur in text");
}

// A total order, so that the result does not depend on the standard library's sort.
void Sampler::sort_best(size_t count) {
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  if (count <= sorted_) return;
  const auto begin = candidates_.begin() + static_cast<ptrdiff_t>(sorted_);
  const auto end = candidates_.begin() + static_cast<ptrdiff_t>(count);
  if (end - begin <= kFew) {
    std::partial_sort(begin, end, candidates_.end(), better);
  } else {
    std::nth_element(begin, end - 1, candidates_.end(), better);
    std::sort(begin, end, better);
  }
  sorted_ = count;
}

void Sampler::keep(size_t count) {
  candidates_.resize(count);
  sorted_ = std::min(sorted_, count);
}

void Sampler::weigh() {
  float most = -kInfinity;
  for (const Candidate& c : candidates_) most = std::max(most, c.logit);
  for (Candidate& c : candidates_)
    c.weight = std::exp((static_cast<double>(c.logit) - static_cast<double>(most)) / options_.temperature);
}

// A few tokens usually have most of the probability: sorts only as many as needed.
void Sampler::keep_top_p() {
  double total = 0.0;
  for (const Candidate& c : candidates_) total += c.weight;
  double mass = 0.0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (i == sorted_) sort_best(std::min(std::max<size_t>(4 * i, 64), candidates_.size()));
    mass += candidates_[i].weight;
    if (mass >= options_.top_p * total) return keep(i + 1);
  }
}

void Sampler::keep_min_p() {
  std::erase_if(candidates_, [this](const Candidate& c) { return c.weight < options_.min_p; });
}

int32_t Sampler::draw_by_weight() {
  double total = 0.0;
  for (const Candidate& c : candidates_) total += c.weight;
  const double target = draws_.unit() * total;
  // The same sum again exceeds the target, because unit() < 1.
  size_t i = 0;
  for (double sum = candidates_[0].weight; sum <= target; sum += candidates_[i].weight) ++i;
  return candidates_[i].token;
}

}  // namespace mega::infer
