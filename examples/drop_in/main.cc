// Mega as a drop-in for attention: a small causal Transformer in plain libtorch, with one module exchanged.
//
// The task is recall. A sequence is kItems random tokens, a separator, and the same tokens again; the model
// predicts the next token and is scored on the second half, which only a look back can tell.
// Ends with 0 if it has learned that.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <exception>

#include "mega/nn/gated_attention.h"

// Shapes: B batch, L length, D width.
constexpr int64_t kItems = 16;
constexpr int64_t kSymbols = 16;
constexpr int64_t kSeparator = kSymbols;
constexpr int64_t kLength = 2 * kItems;  // of the input: the last token is only ever predicted
constexpr int64_t kWidth = 64;
constexpr int64_t kBatch = 32;
constexpr int kSteps = 300;

mega::BlockOptions attention_options() {
  mega::BlockOptions options;
  options.width = kWidth;
  options.values = 2 * kWidth;
  options.shared = kWidth / 2;
  options.max_positions = kLength;
  options.causal = true;
  options.ema.bidirectional = false;
  return options;
}

struct TransformerBlockImpl : torch::nn::Module {
  TransformerBlockImpl() {
    // Was:  attention = torch::nn::MultiheadAttention(torch::nn::MultiheadAttentionOptions(kWidth, 4));
    attention = register_module("attention", mega::nn::GatedAttention(attention_options()));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})));
    up = register_module("up", torch::nn::Linear(kWidth, 2 * kWidth));
    down = register_module("down", torch::nn::Linear(2 * kWidth, kWidth));
  }

  // x (B, L, D) -> (B, L, D)
  torch::Tensor forward(torch::Tensor x) {
    // Was:  x = norm0(x + attention(x, x, x, causal_mask));  a Mega layer has its residual and norm inside,
    // is causal by its options, and needs no position embedding.
    x = attention->forward(x);
    return norm(x + down(torch::silu(up(x))));
  }

  mega::nn::GatedAttention attention{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear up{nullptr}, down{nullptr};
};
TORCH_MODULE(TransformerBlock);

struct TransformerImpl : torch::nn::Module {
  TransformerImpl() {
    embedding = register_module("embedding", torch::nn::Embedding(kSymbols + 1, kWidth));
    blocks = register_module("blocks", torch::nn::Sequential(TransformerBlock(), TransformerBlock()));
    head = register_module("head", torch::nn::Linear(kWidth, kSymbols));
  }

  // tokens (B, L) -> logits (B, L, kSymbols)
  torch::Tensor forward(const torch::Tensor& tokens) { return head(blocks->forward(embedding(tokens))); }

  torch::nn::Embedding embedding{nullptr};
  torch::nn::Sequential blocks{nullptr};
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Transformer);

// Mean cross entropy over the second half of a fresh batch.
torch::Tensor recall_loss(Transformer& model) {
  const auto items = torch::randint(kSymbols, {kBatch, kItems}, torch::kLong);
  const auto separator = torch::full({kBatch, 1}, kSeparator, torch::kLong);
  const auto tokens = torch::cat({items, separator, items}, 1);         // (B, L + 1)
  const auto logits = model(tokens.narrow(1, 0, kLength));              // (B, L, kSymbols)
  const auto answers = logits.narrow(1, kItems, kItems).flatten(0, 1);  // from the separator on
  return torch::nn::functional::cross_entropy(answers, items.flatten());
}

int main() try {
  torch::manual_seed(1);
  Transformer model;
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(3e-3));

  double first = 0;
  double last = 0;
  for (int step = 0; step <= kSteps; ++step) {
    optimizer.zero_grad();
    const auto loss = recall_loss(model);
    loss.backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    last = loss.item<double>();
    if (step == 0) first = last;
    if (step % 50 == 0) std::printf("step %3d  loss %.3f\n", step, last);
  }

  if (last > first / 2) {
    std::fprintf(stderr, "the loss went from %.3f to %.3f only: it should be well below half\n", first, last);
    return 1;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "drop_in: %s\n", error.what());
  return 1;
}
