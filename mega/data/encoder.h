// From a record to the numbers a model reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/config/signature.h"
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

  // Document 0, or 1 for the second text of a pair.
  Sequence encode(const Record& record, int document = 0) const;
  // Positions of document 0 or 1, without encoding it.
  int64_t length(const Record& record, int document = 0) const;

  int64_t channels() const;
  int32_t cls() const { return cls_; }
  const Signature& signature() const { return signature_; }

 private:
  std::vector<float> standardize(std::span<const float> values) const;

  Signature signature_;
  int32_t cls_;
};

// Fills the signature's mean and deviation from training records, as its `standardize` asks.
void fit_statistics(Signature& signature, std::span<const Record> records);

}  // namespace mega::data
