// What the layers of a model cost: multiply-adds, and memory for activations.
#pragma once

#include <cstdint>

#include "mega/config/models/language_options.h"
#include "mega/config/models/layer_options.h"

namespace mega {

// Multiply-adds per token of one Mega block, forward: the products of the layer and the feed-forward,
// attention inside the chunk (half of it when causal), and the EMA's two per state.
double block_multiply_adds(const BlockOptions& options, int64_t length);
double ema_multiply_adds(const BlockOptions& options);
double attention_multiply_adds(const BlockOptions& options, int64_t length);
// Of the cross-attention of a decoder's block: its projections of the query and of one position of the
// source, and attention to a source of this length.
double cross_multiply_adds(const BlockOptions& options, int64_t length);

// The weights of a Mega block without biases and norms, by which baselines are made as large.
int64_t block_weights(const BlockOptions& options);
// The width of the feed-forward (2 d weights for each unit) with which a baseline's block, of so many other
// weights, is as large.
int64_t feed_forward_like(const BlockOptions& options, int64_t others);
// As many heads if they divide the width, else one.
int64_t heads_like(const BlockOptions& options, int64_t heads);

// Numbers per token that one block keeps for its backward pass, and those that the backward pass of the last
// one needs for a moment.
struct BlockActivations {
  double kept = 0.0, moment = 0.0;
};
BlockActivations block_activations(const BlockOptions& options);
// Of a decoder's cross-attention, per position of the source and of the target.
BlockActivations cross_activations(const BlockOptions& options);

// Per token of a language model's output layer: all of the vocabulary, or, of an adaptive one, what every
// token needs: the frequent tokens and the choice among the other bands.
double output_multiply_adds(const TokenOptions& options, int64_t width);

// Bytes of the output layer with its loss in a training step: scores of a few rows at a time
// (mega/ops/softmax_loss.h), gradients of its weights and of its input.
double output_bytes(const TokenOptions& options, int64_t width, int64_t tokens);
// The same for a softmax over so many rows.
double softmax_bytes(double rows, int64_t width, int64_t tokens);

}  // namespace mega
