// From a record to the numbers a model reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mega/config/signature.h"
#include "mega/data/record.h"
#include "mega/text/tokenizer.h"

namespace mega::data {

// A sequence: tokens, or real numbers, position by position with their channels together.
struct Sequence {
  std::vector<Token> tokens;
  std::vector<float> values;
  int64_t length = 0;
};

// Turns records into sequences as a signature says. `cls`: the token that stands before each text; -1 for
// none. `tokenizer`: that of the signature, where it has been made already.
class Encoder {
 public:
  explicit Encoder(Signature signature, Token cls = -1, std::shared_ptr<const Tokenizer> tokenizer = nullptr);

  // Document 0, or 1 for the second text of a pair.
  Sequence encode(const Record& record, int document = 0) const;
  // Positions of document 0 or 1. Much quicker than encoding it, except where a text must be cut into tokens
  // to count them.
  int64_t length(const Record& record, int document = 0) const;

  int64_t channels() const;
  Token cls() const { return cls_; }
  const Signature& signature() const { return signature_; }

 private:
  std::vector<float> standardize(std::span<const float> values) const;

  Signature signature_;
  Token cls_;
  std::shared_ptr<const Tokenizer> tokenizer_;  // null where no text is read
};

// Fills the signature's mean and deviation from training records, as its `standardize` asks.
void fit_statistics(Signature& signature, std::span<const Record> records);

}  // namespace mega::data
