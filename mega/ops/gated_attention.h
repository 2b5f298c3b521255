// The gated attention unit after the moving average, in one operation.
#pragma once

#include "mega/config/layer_options.h"
#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::ops {

struct GatedAttentionSettings {
  AttentionSettings attention;
  Activation average = Activation::silu;     // of the moving average
  Activation activation = Activation::silu;  // of values and candidate
  Dropout averaged;                          // of the moving average after its activation
  Dropout values;                            // hidden dropout
  Dropout candidate;
};

struct GatedAttentionInputs {
  torch::Tensor residual;  // (B, L, D), the layer's input
  torch::Tensor averaged;  // (B, L, D), the moving average before its activation
  torch::Tensor values;    // (B, L, V), before their activation
  torch::Tensor mixed_weight,
      mixed_bias;              // mx_proj: (D + Z + V + D, D): update gate, shared, reset gate, candidate
  torch::Tensor gamma, beta;   // (2, Z)
  torch::Tensor weight, bias;  // h_proj: (D, V), (D)
};

// Fused form of what nn::GatedAttention composes from single operations (equations 7 to 15): float32 on the
// CPU, no state. It keeps for the backward pass its inputs, their mixed projection (with the candidate in its
// place), and the attention's output, and makes the rest again.
torch::Tensor gated_attention(const GatedAttentionInputs& inputs, const RelativeBias& relative,
                              const torch::Tensor& mask, const GatedAttentionSettings& settings);

}  // namespace mega::ops
