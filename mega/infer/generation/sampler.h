// Which token comes next: a draw from what the model expects, narrowed as the user likes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mega/base/options.h"
#include "mega/base/random.h"

namespace mega::infer {

// Applied in this order. All options at their defaults draw from the model's own distribution.
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
            "recent tokens: positive logits are divided by it, negative ones multiplied; 1 is off",
            Range{1, 100});
    v.field("repetition_window", self.repetition_window, "how many tokens back are recent", Range{0, 1e9});
    v.field("temperature", self.temperature, "below 1 the likely gets likelier; 0 takes the likeliest",
            Range{0, 100});
    v.field("top_k", self.top_k, "draw from this many of the likeliest tokens; 0 is off", Range{0, 1e9});
    v.field("top_p", self.top_p, "draw from the fewest tokens that have this probability together; 1 is off",
            Range{0, 1});
    v.field("min_p", self.min_p, "drop tokens below this share of the likeliest one's probability; 0 is off",
            Range{0, 1});
    v.field("allow_unknown", self.allow_unknown, "<unk> may be drawn");
    v.field("seed", self.seed, "the same seed draws the same tokens", Range{0, 1e15});
  }
};

// <s> and padding are never drawn: no text has them. Of equally likely tokens the smaller number goes first.
class Sampler {
 public:
  // Error where an option is outside its range.
  explicit Sampler(const SamplerOptions& options);

  // `logits` has one number for each token, -inf for what cannot be; `history` are the tokens before, of
  // which the penalty looks at the last ones. Error where logits are NaN or +inf, or nothing is left to draw.
  int32_t draw(std::span<const float> logits, std::span<const int32_t> history);

 private:
  struct Candidate {
    float logit;
    int32_t token;
    double weight;  // its probability, relative to the likeliest one's
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
  // Kept from draw to draw for their memory alone.
  std::vector<float> logits_;
  std::vector<int32_t> recent_;
  std::vector<Candidate> candidates_;
  size_t sorted_ = 0;  // so many candidates at the front are the best ones, in order
};

}  // namespace mega::infer
