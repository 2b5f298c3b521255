// How well a model predicts a text: perplexity, bits per character and bits per byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mega/data/corpus/text_counts.h"

namespace mega::infer {

struct Estimate {
  double value = 0.0;
  std::optional<double> uncertainty;  // half a 95 % interval; none: the text is too short to know
};

struct ScoreResult {
  int64_t tokens = 0;
  data::TextCounts counts;
  Estimate nats_per_token;
  Estimate perplexity;
  Estimate bits_per_character;
  Estimate bits_per_byte;
};

// Sums up the log-probabilities of a text's tokens. How hard a token is depends on its neighbours, so tokens
// are no independent samples; blocks of 512 nearly are, and the uncertainty comes from how their means
// differ. It answers how another text of this kind would score that has as many characters per token.
class TextScore {
 public:
  static constexpr int64_t kBlock = 512;

  // The tokens that come next in the text, by their natural log-probabilities, and the text they are. Error
  // where a number is none.
  void add(std::span<const float> log_probabilities, const data::TextCounts& counts);

  // Takes another text, or another part of this one, in.
  void merge(const TextScore& other);

  // Error where nothing was added.
  ScoreResult result() const;

 private:
  void close_full_block();

  double nats_ = 0.0;
  int64_t tokens_ = 0;
  data::TextCounts counts_;

  // The block that is not full yet.
  double block_nats_ = 0.0;
  int64_t block_tokens_ = 0;

  // Full blocks, by Welford's method: a sum of squares would lose the small difference of large numbers.
  int64_t blocks_ = 0;
  double mean_ = 0.0;
  double squares_ = 0.0;  // sum of (a block's mean - mean_)^2
};

}  // namespace mega::infer
