// Flash (Hua et al. 2022): layers of one gated attention unit each, without feed-forward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"

namespace mega {

// Attention over the whole sequence, or within chunks plus a linear part over everything.
enum class FlashForm { quadratic, mixed };

template <>
struct EnumNames<FlashForm> {
  static constexpr auto names =
      enum_table<FlashForm>({{FlashForm::quadratic, "quadratic"}, {FlashForm::mixed, "mixed"}});
};

// Flash-quad as the paper's program has it, by default of the size for Text.
struct FlashOptions : SequenceOptions {
  static constexpr const char* kind = "flash";
  int64_t documents = 1;
  FlashForm form = FlashForm::quadratic;
  int64_t width = 128;
  int64_t values = 256;
  int64_t shared = 64;
  int64_t max_positions = 4002;
  int64_t chunk = 256;
  NormKind norm = NormKind::scale;
  double dropout = 0.1;
  double attention_dropout = 0.0;

  FlashOptions() { pooling = Pooling::cls; }

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  int64_t document_count() const override { return documents; }
  int64_t max_length() const override { return form == FlashForm::quadratic ? max_positions : 0; }
  void make_for(int64_t length) override { max_positions = std::max(max_positions, length); }
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  // As wide, with as many layers and parameters.
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    SequenceOptions::visit(self, v);
    v.field("documents", self.documents, "1 classifies a sequence, 2 a pair", Range{1, 2});
    v.field("form", self.form, "attention over everything, or in chunks and a linear part");
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("values", self.values, "width of values and gate", kWidth);
    v.field("shared", self.shared, "width of queries and keys", kWidth);
    v.field("max_positions", self.max_positions, "longest sequence, with form = quadratic",
            Range{1, 1 << 30});
    v.field("chunk", self.chunk, "length of a chunk, with form = mixed", Range{1, 1 << 30});
    v.field("norm", self.norm, "kind of norm: scale, layer or batch");
    v.field("dropout", self.dropout, "on the embedding and on the output of each layer", kProbability);
    v.field("attention_dropout", self.attention_dropout, "on attention weights", kProbability);
  }
};

}  // namespace mega
