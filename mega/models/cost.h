// What a model costs: multiply-adds, and memory for activations.
#pragma once

#include <cstdint>

#include "mega/config/layer_options.h"
#include "mega/config/model_options.h"

namespace mega::models {

// Multiply-adds per token of one block, forward: the products of the layer and the feed-forward, attention
// inside the chunk (half of it when causal), and the EMA's two per state. The backward pass counts twice.
double block_multiply_adds(const BlockOptions& options, int64_t length);
double ema_multiply_adds(const BlockOptions& options);
double attention_multiply_adds(const BlockOptions& options, int64_t length);

// Per token of a language model's output layer: all of the vocabulary, or, of an adaptive one, what every token
// needs: the frequent tokens and the choice among the other bands.
double output_multiply_adds(const TokenOptions& options, int64_t width);

// Bytes that one training step of the fused form needs at its peak beyond parameters, gradients and
// optimiser.
double activation_bytes(const EncoderClassifierOptions& options, int64_t length, int64_t batch);
double activation_bytes(const LanguageModelOptions& options, int64_t length, int64_t batch);

// Of which the output layer with its loss: scores of a few rows at a time (mega/ops/softmax_loss.h), gradients of
// its weights and of its input.
double output_bytes(const TokenOptions& options, int64_t width, int64_t tokens);

}  // namespace mega::models
