// The best continuations of some hypotheses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mega/text/tokens.h"

namespace mega::infer {

struct Candidate {
  double rank = 0.0;             // what candidates are compared by
  float log_probability = 0.0f;  // of the token
  int64_t hypothesis = 0;
  Token token = 0;
};

// Keeps the best `count` of the candidates that it is offered; ties go to the earlier hypothesis, then to the
// smaller token, so that the result does not depend on the order.
class Candidates {
 public:
  explicit Candidates(size_t count) : count_(count) {}

  void offer(const Candidate& candidate);

  // A continuation of a hypothesis of this rank with a lower log-probability is not among the best.
  float threshold(double rank) const;

  // Best first.
  std::vector<Candidate> take();

 private:
  size_t count_;
  std::vector<Candidate> heap_;  // the worst is in front
};

}  // namespace mega::infer
