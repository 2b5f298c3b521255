// Sinusoidal absolute positions (Vaswani et al. 2017), in the forms of several released programs.
#pragma once

#include <mutex>

#include "mega/ops/torch.h"

namespace mega::baselines {

// How programs lay the same numbers out: channel k of D/2 has the frequency 10000^(-k / (D/2 - 1)) or
// 10000^(-2k / D), and sines stand before cosines or alternate with them.
struct SinusoidForm {
  int64_t first_position = 0;
  bool ends_at_10000 = false;  // the last frequency is 1 / 10000: the first formula
  bool interleaved = false;
};
// As in fairseq, where positions start after the index of the padding token, 1.
inline constexpr SinusoidForm kFairseqSinusoids{2, true, false};

// (positions, D) for positions (n) of real numbers, in double.
torch::Tensor sinusoids(const torch::Tensor& positions, int64_t width, const SinusoidForm& form);

// For any length: the table does not depend on parameters, is cached, and grows by doubling.
class SinusoidalPositions {
 public:
  // `width` must be even and at least 4.
  explicit SinusoidalPositions(int64_t width, const SinusoidForm& form = kFairseqSinusoids)
      : width_(width), form_(form) {}

  // (length, D): the positions added to tokens `first`, first + 1, ... of a sequence, in the dtype of
  // `options`.
  torch::Tensor rows(int64_t first, int64_t length, const torch::TensorOptions& options);

 private:
  torch::Tensor make_table(int64_t length) const;  // (length, D)

  int64_t width_;
  SinusoidForm form_;
  torch::Tensor table_;
  std::mutex mutex_;  // protects table_
};

}  // namespace mega::baselines
