#include "mega/infer/models/score.h"

#include <array>
#include <cmath>
#include <numbers>

#include "mega/base/error.h"

namespace mega::infer {
namespace {

// A log-probability computed in float may be slightly above 0.
constexpr float kRounding = 1e-3F;

// The 97.5 % quantile of Student's t distribution with `degrees` of freedom: half-width of the 95 %
// confidence interval in standard errors.
double deviations95(int64_t degrees) {
  constexpr std::array kFew = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  if (degrees <= std::ssize(kFew)) return kFew[static_cast<size_t>(degrees - 1)];
  const double inverse = 1.0 / static_cast<double>(degrees);
  return 1.960 + inverse * (2.372 + inverse * 2.823);  // Fisher's expansion
}

Estimate scaled(const Estimate& estimate, double factor) {
  Estimate result{estimate.value * factor, std::nullopt};
  if (estimate.uncertainty) result.uncertainty = *estimate.uncertainty * factor;
  return result;
}

}  // namespace

void TextScore::add(std::span<const float> log_probabilities, const data::TextCounts& counts) {
  for (const float x : log_probabilities)
    require(x <= kRounding, "a token has the log-probability ", x, ": expected a number <= 0");
  for (const float x : log_probabilities) {
    nats_ -= static_cast<double>(x);
    block_nats_ -= static_cast<double>(x);
    ++block_tokens_;
    close_full_block();
  }
  tokens_ += std::ssize(log_probabilities);
  counts_ += counts;
}

void TextScore::close_full_block() {
  if (block_tokens_ < kBlock) return;
  const double mean = block_nats_ / static_cast<double>(block_tokens_);
  const double difference = mean - mean_;
  ++blocks_;
  mean_ += difference / static_cast<double>(blocks_);
  squares_ += difference * (mean - mean_);
  block_nats_ = 0.0;
  block_tokens_ = 0;
}

void TextScore::merge(const TextScore& other) {
  nats_ += other.nats_;
  tokens_ += other.tokens_;
  counts_ += other.counts_;

  if (other.blocks_ > 0) {
    const double difference = other.mean_ - mean_;
    const auto here = static_cast<double>(blocks_);
    const auto there = static_cast<double>(other.blocks_);
    mean_ += difference * there / (here + there);
    squares_ += other.squares_ + difference * difference * here * there / (here + there);
    blocks_ += other.blocks_;
  }
  // The incomplete blocks of both are joined, so that many short texts count like one long text.
  block_nats_ += other.block_nats_;
  block_tokens_ += other.block_tokens_;
  close_full_block();
}

ScoreResult TextScore::result() const {
  require(tokens_ > 0 && counts_.characters > 0 && counts_.bytes > 0,
          "nothing to score: expected at least one token, character and byte, got ", tokens_, ", ",
          counts_.characters, " and ", counts_.bytes);
  const auto tokens = static_cast<double>(tokens_);
  Estimate nats{nats_ / tokens, std::nullopt};
  if (blocks_ >= 2) {
    const auto blocks = static_cast<double>(blocks_);
    const double deviation = std::sqrt(squares_ / (blocks - 1) / blocks);  // standard error of the mean
    // Not finite if a token had probability 0: the perplexity is infinite, without uncertainty.
    if (std::isfinite(deviation)) nats.uncertainty = deviations95(blocks_ - 1) * deviation;
  }
  const double perplexity = std::exp(nats.value);
  ScoreResult result;
  result.tokens = tokens_;
  result.counts = counts_;
  result.nats_per_token = nats;
  result.perplexity = scaled(nats, perplexity);  // the uncertainty is multiplied by the slope of exp
  result.perplexity.value = perplexity;
  const double bits = tokens * std::numbers::log2e;
  result.bits_per_character = scaled(nats, bits / static_cast<double>(counts_.characters));
  result.bits_per_byte = scaled(nats, bits / static_cast<double>(counts_.bytes));
  return result;
}

}  // namespace mega::infer
