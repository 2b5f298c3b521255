// Rows of log-probabilities: from logits, averaged over models, and searched for the best; and what the loss
// of a softmax needs of its logits.
#pragma once

#include <cstdint>

#include "mega/kernels/rows.h"

namespace mega::kernels {

// y = x - log(sum(exp(x))) for rows [begin, end); y may alias x. A row that is no distribution, because it
// holds NaN or +inf, or -inf only, becomes NaN.
void log_softmax(ConstRows x, Rows y, int64_t begin, int64_t end, int64_t columns);

// normalizer[row] = log(sum(exp(x))) and mean[row] = mean(x) for rows [begin, end).
void softmax_sums(ConstRows x, float* normalizer, float* mean, int64_t begin, int64_t end, int64_t columns);

// The gradient of the logits, in their place, but for that of the target's own: with label smoothing of
// `share` per column, x = (exp(x - normalizer[row]) - share) gradient[row].
void softmax_gradient(Rows x, const float* normalizer, const float* gradient, float share, int64_t begin,
                      int64_t end, int64_t columns);

// y = log(mean_i exp(x[i])), the log-probabilities of `count` models together; y may alias one of the x.
void log_mean(const float* const* x, int64_t count, float* y, int64_t columns);

// The first column in [begin, end) that is not below the threshold, also if it is NaN; end if there is none.
int64_t find_not_below(const float* x, int64_t begin, int64_t end, float threshold);

}  // namespace mega::kernels
