// The gated attention unit after the moving average, as one operation.
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::ops {

struct GatedAttentionSettings {
  AttentionSettings attention;
  Activation average = Activation::silu;     // applied to the moving average
  Activation activation = Activation::silu;  // applied to values and candidate
  Dropout averaged;                          // on the activated moving average
  Dropout values;                            // hidden dropout
  Dropout candidate;
};

struct GatedAttentionInputs {
  torch::Tensor residual;                    // (B, L, D), input of the layer
  torch::Tensor input;                       // (B, L, D), the same, normalised with prenorm
  torch::Tensor averaged;                    // (B, L, D), its moving average before activation
  torch::Tensor values_weight, values_bias;  // v_proj: (V, D), (V)
  torch::Tensor mixed_weight,
      mixed_bias;              // mx_proj: (D + Z + V + D, D): update gate, shared, reset gate, candidate
  torch::Tensor gamma, beta;   // (2, Z)
  torch::Tensor weight, bias;  // h_proj: (D, V), (D)
  torch::Tensor path = {};     // (B), factors of the candidate (drop path); undefined: 1
};

// Fused form of what nn::GatedAttention composes from single operations (equations 7 to 15): float32 on the
// CPU, no state. For the backward pass it saves its inputs, their projections (the candidate's overwritten by
// the candidate) and the attention output, and recomputes the rest. In bf16, what it saves beside `residual`
// is bf16.
torch::Tensor gated_attention(const GatedAttentionInputs& inputs, const RelativeBias& relative,
                              const torch::Tensor& mask, const GatedAttentionSettings& settings);

}  // namespace mega::ops
