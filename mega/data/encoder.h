// From a record to the numbers a model reads.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/config/signature.h"
#include "mega/data/augment/augmenter.h"
#include "mega/data/part.h"
#include "mega/data/record.h"

namespace mega::data {

// A sequence: tokens, or real numbers, position by position with their channels together.
struct Sequence {
  std::vector<int32_t> tokens;
  std::vector<float> values;
  int64_t length = 0;
};

// Turns records into sequences as a signature says. `cls`: the token that stands before each text; -1 for
// none.
class Encoder {
 public:
  explicit Encoder(Signature signature, int32_t cls = -1);

  // Document 0, or 1 for the second text of a pair, as the augmenter changes it.
  Sequence encode(const Record& record, int document = 0, const Augmenter& augmenter = {}) const;
  // Positions of document 0 or 1, without encoding it.
  int64_t length(const Record& record, int document = 0) const;

  int64_t channels() const;
  int32_t cls() const { return cls_; }
  const Signature& signature() const { return signature_; }

 private:
  // Which statistic a number belongs to: one per channel, or per position and channel; the last position's
  // stands for all beyond it.
  size_t statistic(size_t i) const;
  std::vector<float> standardize(std::vector<float> values) const;

  Signature signature_;
  int32_t cls_;
};

// Fills the signature's mean and deviation from the training examples, as its `standardize` asks.
void fit_statistics(Signature& signature, const Part& part);

}  // namespace mega::data
