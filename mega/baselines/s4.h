// S4 and S4D as classifiers and as language models.
#pragma once

#include "mega/config/models/s4_options.h"
#include "mega/models/decoder_model.h"
#include "mega/models/encoder_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// The model of the released experiments: embeddings of unit variance, layers, pooling, a linear head. Two
// documents share the encoder, and Mega's head compares them.
class S4Impl : public models::EncoderModel {
 public:
  explicit S4Impl(const S4Options& options);
  explicit S4Impl(const S4DOptions& options);
};
TORCH_MODULE(S4);

// With Mega's adaptive embedding and output.
class LanguageS4Impl : public models::DecoderModel {
 public:
  explicit LanguageS4Impl(const S4LanguageOptions& options);
  explicit LanguageS4Impl(const S4DLanguageOptions& options);
};
TORCH_MODULE(LanguageS4);

}  // namespace mega::baselines
