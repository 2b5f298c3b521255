// A Mega layer by itself: one pass over a sequence, and the same in two pieces with a state between them.
#include <torch/torch.h>

#include <exception>
#include <iostream>

// [snippet]
#include "mega/nn/gated_attention.h"
// [end]

int main() try {
  torch::manual_seed(1);
  const torch::NoGradGuard no_gradients;
  const auto x = torch::randn({2, 1000, 128});              // (B, L, D)
  const auto mask = torch::zeros({2, 1000}, torch::kBool);  // (B, L)
  // [snippet]
  mega::BlockOptions options;
  options.width = 128;  // D; values, shared, hidden, attention, position, norm, ... likewise
  options.chunk = 128;  // attention inside chunks: linear in length. -1: full attention
  options.causal = true;
  options.ema.bidirectional = false;

  mega::nn::GatedAttention layer(options);  // includes residual and norm
  layer->eval();                            // without dropout
  auto y = layer->forward(x, mask);         // x (B, L, D); mask (B, L) bool, true = padding

  mega::nn::GatedAttentionState state;                          // a value: copy, reorder, save, load
  auto first = layer->forward(x.slice(1, 0, 700), {}, &state);  // any split gives the same result
  auto rest = layer->forward(x.slice(1, 700), {}, &state);

  const double difference = (torch::cat({first, rest}, 1) - y).abs().max().item<double>();
  std::cout << y.sizes() << (difference < 1e-4 ? ", the same in two pieces\n" : ", other in two pieces\n");
  // [end]
  return difference < 1e-4 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "layer: " << error.what() << "\n";
  return 1;
}
