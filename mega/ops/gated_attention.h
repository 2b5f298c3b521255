// The gated attention unit after its projections, in one operation.
#pragma once

#include "mega/config/layer_options.h"
#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::ops {

struct GatedAttentionSettings {
  AttentionSettings attention;
  Activation activation = Activation::silu;  // of values and candidate
  Dropout values;                            // hidden dropout
  Dropout candidate;
};

struct GatedAttentionInputs {
  torch::Tensor residual;  // (B, L, D), the layer's input
  torch::Tensor mixed;     // (B, L, D + Z + V + D): update gate, shared, reset gate, candidate; no activation yet
  torch::Tensor values;    // (B, L, V), no activation yet
  torch::Tensor gamma, beta;     // (2, Z)
  torch::Tensor weight, bias;    // of h_proj: (D, V), (D)
};

// Fused form of what nn::GatedAttention composes from single operations: float32 on the CPU, no state. It keeps
// for the backward pass the inputs, the attention's output and the candidate, and makes the rest again.
torch::Tensor gated_attention(const GatedAttentionInputs& inputs, const RelativeBias& relative,
                              const torch::Tensor& mask, const GatedAttentionSettings& settings);

}  // namespace mega::ops
