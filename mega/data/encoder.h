// From a record to the numbers a model reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/data/augment/augmenter.h"
#include "mega/data/part.h"
#include "mega/data/record.h"
#include "mega/text/tokenizer.h"

namespace mega::data {

// A sequence: tokens, or real numbers, position by position with their channels together; the positions of a
// picture are its pixels, row by row.
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

  // Document 0, or 1 for the second text of a pair, as the augmenter changes it.
  Sequence encode(const Record& record, int document = 0, const Augmenter& augmenter = {}) const;
  // Positions of document 0 or 1. Much quicker than encoding it, except where a text must be cut into tokens
  // to count them.
  int64_t length(const Record& record, int document = 0) const;

  // The length of every example, where the input has one size.
  std::optional<int64_t> fixed_length() const;

  int64_t channels() const;
  Token cls() const { return cls_; }
  const Signature& signature() const { return signature_; }

 private:
  // Of a text with bytes left out, or of a window of it.
  std::vector<Token> augmented_tokens(const std::string& text, int64_t max_length,
                                      const Augmenter& augmenter) const;
  Sequence encode_picture(const Record& record, const ImageInput& image, const Augmenter& augmenter) const;
  // Which statistic a number belongs to: one per channel, or per position and channel; the last position's
  // stands for all beyond it.
  size_t statistic(size_t i) const;
  std::vector<float> standardize(std::vector<float> values) const;

  Signature signature_;
  Token cls_;
  std::shared_ptr<const Tokenizer> tokenizer_;  // null where no text is read
};

// Fills the signature's mean and deviation from the training examples, as its `standardize` asks.
void fit_statistics(Signature& signature, const Part& part);

}  // namespace mega::data
