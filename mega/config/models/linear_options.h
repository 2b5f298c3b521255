// The simplest baseline: a linear classifier on the bag of a text's n-grams.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"

namespace mega {

struct LinearOptions : SequenceOptions {
  static constexpr const char* kind = "linear";
  int64_t documents = 1;
  int64_t ngrams = 2;
  int64_t buckets = 1 << 18;

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  int64_t document_count() const override { return documents; }
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  // The same texts and classes; no size to match.
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("input", self.input, "what a sequence is made of");
    v.field("vocabulary", self.vocabulary, "number of token types", kVocabulary);
    v.field("objective", self.objective, "predict a class, or real numbers");
    v.field("classes", self.classes, "number of classes, or of real numbers to predict", kClasses);
    v.field("documents", self.documents, "1 classifies a sequence, 2 a pair", Range{1, 2});
    v.field("ngrams", self.ngrams, "tokens of the longest n-gram", Range{1, 16});
    v.field("buckets", self.buckets, "n-grams are hashed into so many", Range{1, 1 << 26});
  }
};

}  // namespace mega
