// What a Transformer costs: multiply-adds, and memory for activations. The same for Mega is in
// mega/models/cost.h.
#pragma once

#include <cstdint>

#include "mega/config/model_options.h"

namespace mega::baselines {

// Per token, forward, of all layers. Attention is over the whole sequence, so it grows with the length.
double multiply_adds(const TransformerOptions& options, int64_t length);

// The same of a language model, whose tokens see half of the sequence on average, with its output layer. Of
// an adaptive one, only what every token needs: the frequent tokens and the choice among the other bands.
double multiply_adds(const TransformerLanguageOptions& options, int64_t length);

// Bytes that one training step of the fused form needs at its peak beyond parameters, gradients and
// optimiser, for a batch of documents or of pairs.
double activation_bytes(const TransformerOptions& options, int64_t length, int64_t batch);
double activation_bytes(const TransformerLanguageOptions& options, int64_t length, int64_t batch);

}  // namespace mega::baselines
