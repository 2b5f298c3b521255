// Metrics of a language model on a text: perplexity, bits per character and bits per byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mega/data/corpus/text_counts.h"

namespace mega::infer {

struct Estimate {
  double value = 0.0;
  std::optional<double> uncertainty;  // half of the 95 % interval; nullopt if the text is too short
};

struct ScoreResult {
  int64_t tokens = 0;
  data::TextCounts counts;
  Estimate nats_per_token;
  Estimate perplexity;
  Estimate bits_per_character;
  Estimate bits_per_byte;
};

// Accumulates the log-probabilities of a text's tokens. Neighbouring tokens are correlated, so they are not
// independent samples; blocks of 512 nearly are, and the uncertainty is computed from the variance of their
// means. It is the uncertainty of the score of another text of this kind with as many characters per token.
class TextScore {
 public:
  static constexpr int64_t kBlock = 512;

  // Natural log-probabilities of the next tokens of the text, and the counts of that text. Error if a number
  // is NaN or above 0.
  void add(std::span<const float> log_probabilities, const data::TextCounts& counts);

  // Adds another text, or another part of this one.
  void merge(const TextScore& other);

  // Error if nothing was added.
  ScoreResult result() const;

 private:
  void close_full_block();

  double nats_ = 0.0;
  int64_t tokens_ = 0;
  data::TextCounts counts_;

  // The incomplete block.
  double block_nats_ = 0.0;
  int64_t block_tokens_ = 0;

  // Full blocks, by Welford's method, which avoids cancellation.
  int64_t blocks_ = 0;
  double mean_ = 0.0;
  double squares_ = 0.0;  // sum of (a block's mean - mean_)^2
};

}  // namespace mega::infer
