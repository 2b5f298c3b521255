// The paper's Transformer baselines, run by libtorch.
#pragma once

#include "cli/any_model.h"

namespace mega::cli {

class TorchModels : public OtherModels {
 public:
  std::unique_ptr<AnyLanguageModel> open_language_model(const std::filesystem::path& path,
                                                        int threads) const override;
  std::unique_ptr<AnyClassifier> open_classifier(const std::filesystem::path& path,
                                                 int threads) const override;
  AnyTranslator open_translator(const std::filesystem::path& path, int threads) const override;
};

}  // namespace mega::cli
