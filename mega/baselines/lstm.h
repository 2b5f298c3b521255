// The released program's LSTM classifier.
#pragma once

#include "mega/config/models/lstm_options.h"
#include "mega/models/encoder_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// A bidirectional LSTM over the true length of each sequence. With pooling = last, the last states of both
// directions stand for a sequence; with mean, their mean over its positions (the released program adds its
// padding value to that).
class LstmImpl : public models::EncoderModel {
 public:
  explicit LstmImpl(const LstmOptions& options);

 protected:
  torch::Tensor pool(const torch::Tensor& x, const models::Padding& padding) const override;

 private:
  LstmOptions options_;
};
TORCH_MODULE(Lstm);

}  // namespace mega::baselines
