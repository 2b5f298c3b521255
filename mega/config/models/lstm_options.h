// The bidirectional LSTM of the released program's classifiers.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"

namespace mega {

struct LstmOptions : SequenceOptions {
  static constexpr const char* kind = "lstm";
  int64_t documents = 1;
  int64_t width = 128;
  int64_t hidden = 128;
  double dropout = 0.1;

  LstmOptions() { pooling = Pooling::last; }

  void check() const override { SequenceOptions::check(); }
  std::vector<TensorInfo> tensors() const override;
  int64_t document_count() const override { return documents; }
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    SequenceOptions::visit(self, v);
    v.field("documents", self.documents, "1 classifies a sequence, 2 a pair", Range{1, 2});
    v.field("width", self.width, "D, width of the embedding", kWidth);
    v.field("hidden", self.hidden, "width of the state of each direction", kWidth);
    v.field("dropout", self.dropout, "between layers, and in the head", kProbability);
  }
};

}  // namespace mega
