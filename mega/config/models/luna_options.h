// Luna (Ma et al. 2021): attention through a packed sequence of fixed length.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"

namespace mega {

// Luna-256, by default of the size that was published for Text.
struct LunaOptions : SequenceOptions {
  static constexpr const char* kind = "luna";
  int64_t documents = 1;
  int64_t width = 256;
  int64_t hidden = 1024;
  int64_t heads = 4;
  int64_t pack_heads = 4;
  int64_t packed = 256;
  Activation activation = Activation::gelu;
  bool tie_keys = false;
  bool share_layers = false;
  bool prenorm = false;
  bool normalize_embedding = true;
  double dropout = 0.1;
  double attention_dropout = 0.0;
  double activation_dropout = 0.0;

  LunaOptions() {
    head = 1024;
    pooling = Pooling::cls;
  }

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  int64_t document_count() const override { return documents; }
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  // As wide, with as many layers and parameters.
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    SequenceOptions::visit(self, v);
    v.field("documents", self.documents, "1 classifies a sequence, 2 a pair", Range{1, 2});
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("hidden", self.hidden, "width inside the feed-forward", kWidth);
    v.field("heads", self.heads, "heads of the attention to the packed sequence; divides the width",
            Range{1, 1024});
    v.field("pack_heads", self.pack_heads, "heads of the attention that packs; divides the width",
            Range{1, 1024});
    v.field("packed", self.packed, "length of the packed sequence", Range{1, 1 << 20});
    v.field("activation", self.activation, "activation of the feed-forward");
    v.field("tie_keys", self.tie_keys, "one projection for keys and values");
    v.field("share_layers", self.share_layers, "all layers have the same weights");
    v.field("prenorm", self.prenorm, "normalise the input of each sublayer instead of its output");
    v.field("normalize_embedding", self.normalize_embedding, "layer norm after the embeddings");
    v.field("dropout", self.dropout, "on the embeddings and on the output of each sublayer", kProbability);
    v.field("attention_dropout", self.attention_dropout, "on attention weights", kProbability);
    v.field("activation_dropout", self.activation_dropout, "inside the feed-forward", kProbability);
  }
};

}  // namespace mega
