#include "mega/baselines/lstm.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/nn/stack.h"
#include "mega/ops/watch.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

class LstmStack : public nn::Stack {
 public:
  LstmStack(const LstmOptions& options, torch::nn::Module& holder)
      : lstm_(torch::nn::LSTMOptions(options.width, options.hidden)
                  .num_layers(options.layers)
                  .bidirectional(true)
                  .batch_first(true)
                  .dropout(options.layers > 1 ? options.dropout : 0.0)) {
    holder.register_module("lstm", lstm_);
    const torch::NoGradGuard guard;
    for (const auto& item : lstm_->named_parameters()) {
      if (item.value().dim() == 2)
        torch::nn::init::xavier_uniform_(item.value());
      else
        item.value().zero_();
    }
  }

  Tensor forward(Tensor x, const Tensor& mask, nn::State* state, const nn::Source&) override {
    require(state == nullptr, "a bidirectional LSTM cannot carry a state: it depends on future inputs");
    ops::watch("embed_tokens", x);
    if (!mask.defined()) return std::get<0>(lstm_->forward(x));
    const Tensor lengths = mask.logical_not().sum(1).cpu();
    const auto packed = torch::nn::utils::rnn::pack_padded_sequence(x, lengths, /*batch_first=*/true,
                                                                    /*enforce_sorted=*/false);
    const auto output = std::get<0>(lstm_->forward_with_packed_input(packed));
    return std::get<0>(
        torch::nn::utils::rnn::pad_packed_sequence(output, /*batch_first=*/true, 0.0, x.size(1)));
  }

 private:
  torch::nn::LSTM lstm_;
};

}  // namespace

LstmImpl::LstmImpl(const LstmOptions& options)
    : EncoderModel(options, options.documents, 2 * options.hidden, options.dropout), options_(options) {
  models::InputEmbedding embedding(options, options.width,
                                   1.0 / std::sqrt(static_cast<double>(options.width)));
  encoder().register_module("embed_tokens", embedding);
  set_encoder(embedding, std::make_unique<LstmStack>(options, encoder()));
}

Tensor LstmImpl::pool(const Tensor& x, const models::Padding& padding) const {
  if (options_.pooling != Pooling::last) return EncoderModel::pool(x, padding);
  const Tensor last = EncoderModel::pool(x, padding);
  return torch::cat(
      {last.narrow(1, 0, options_.hidden), x.select(1, 0).narrow(1, options_.hidden, options_.hidden)}, 1);
}

}  // namespace mega::baselines
