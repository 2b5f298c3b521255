// Models that map pictures to one prediction each.
#pragma once

#include "mega/config/models/image_options.h"
#include "mega/models/sequence_model.h"

namespace mega::models {

class ImageModel : public SequenceModel {
 public:
  // One document: the pixels of each picture row by row, (B, H W) or (B, H W, channels).
  torch::Tensor predict(const std::vector<Sequences>& documents) override;

  // Pixels, of which a patch has many: 20 pictures of 224 by 224.
  int64_t positions_together() const override { return 1 << 20; }

  // Pictures (B, channels, H, W) of the size that the options name -> (B, classes), logits or real numbers.
  virtual torch::Tensor forward(const torch::Tensor& pictures) = 0;

 protected:
  explicit ImageModel(const ImageOptions& options)
      : channels_(options.channels), rows_(options.rows()), columns_(options.columns()) {}

 private:
  int64_t channels_, rows_, columns_;
};

}  // namespace mega::models
