// Samples the next token from the model's distribution, restricted by the options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/base/random.h"

namespace mega::infer {

// Applied in this order. The defaults sample from the model's own distribution.
struct SamplerOptions {
  double repetition_penalty = 1.0;
  int64_t repetition_window = 64;
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  bool allow_unknown = false;
  int64_t seed = 1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("repetition_penalty", self.repetition_penalty,
            "positive logits of recent tokens are divided by this, negative ones multiplied; 1: off",
            Range{1, 100});
    v.field("repetition_window", self.repetition_window, "number of recent tokens for the repetition penalty",
            Range{0, 1e9});
    v.field("temperature", self.temperature,
            "sampling temperature; below 1 sharpens the distribution, 0 is greedy", Range{0, 100});
    v.field("top_k", self.top_k, "sample from this many most likely tokens; 0: off", Range{0, 1e9});
    v.field("top_p", self.top_p, "sample from the fewest tokens with this total probability; 1: off",
            Range{0, 1});
    v.field("min_p", self.min_p, "drop tokens below this share of the highest probability; 0: off",
            Range{0, 1});
    v.field("allow_unknown", self.allow_unknown, "allow <unk> to be sampled");
    v.field("seed", self.seed, "random seed", Range{0, 1e15});
  }
};

// <s> and padding are never sampled: they do not occur in text. Ties are broken by the smaller token number.
class Sampler {
 public:
  // Error if an option is out of range.
  explicit Sampler(const SamplerOptions& options);

  // `logits` has one number per token, -inf for impossible ones; `history` are the previous tokens, for the
  // repetition penalty. Error if logits are NaN or +inf, or no token is left.
  int32_t draw(std::span<const float> logits, std::span<const int32_t> history);

 private:
  struct Candidate {
    float logit;
    int32_t token;
    double weight;  // probability relative to the highest one
  };

  void penalize(std::span<const int32_t> history);
  void collect_candidates();
  void sort_best(size_t count);
  void keep(size_t count);
  void weigh();
  void keep_top_p();
  void keep_min_p();
  int32_t draw_by_weight();

  SamplerOptions options_;
  Random draws_;
  // Members only to reuse their memory.
  std::vector<float> logits_;
  std::vector<int32_t> recent_;
  std::vector<Candidate> candidates_;
  size_t sorted_ = 0;  // number of candidates at the front that are sorted, best first
};

}  // namespace mega::infer
