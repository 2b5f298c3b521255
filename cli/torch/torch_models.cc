#include "cli/torch/torch_models.h"

#include <array>

#include "mega/baselines/model_builders.h"
#include "mega/models/saliency.h"
#include "mega/models/token_predictor.h"
#include "mega/models/translation_decoder.h"
#include "mega/ops/runtime.h"
#include "mega/train/batch_tensors.h"
#include "mega/train/evaluation/evaluation.h"
#include "mega/train/evaluation/text_evaluation.h"
#include "mega/train/saved_model.h"

namespace mega::cli {
namespace {

class TorchLanguageModel : public AnyLanguageModel {
 public:
  explicit TorchLanguageModel(train::SavedLanguageModel saved) : saved_(std::move(saved)) {}

  // Reads text the same way as in evaluation.
  std::unique_ptr<infer::Predictor> make() const override {
    return std::make_unique<models::TokenPredictor>(saved_.model, saved_.options.kind().reading());
  }
  const Tokenizer& tokenizer() const override { return *saved_.tokenizer; }
  infer::ScoreResult score(const data::TokenView& text, const infer::Scored& scored) override {
    train::TextReading reading;
    reading.scored = scored;
    return train::evaluate_text(*saved_.model, saved_.options.kind().reading(), text, reading).score;
  }

 private:
  train::SavedLanguageModel saved_;
};

class TorchClassifier : public AnyClassifier {
 public:
  explicit TorchClassifier(train::SavedModel saved)
      : saved_(std::move(saved)), encoder_(saved_.signature, cls_token(saved_.options)) {}

  const Signature& signature() const override { return saved_.signature; }
  int documents() const override { return static_cast<int>(saved_.options.kind().document_count()); }
  std::vector<std::vector<float>> answers(std::vector<data::Record> records) override {
    const data::Part part(std::move(records));
    const train::Evaluation said = train::evaluate(*saved_.model, part, encoder_, documents(), {});
    std::vector<std::vector<float>> answers;
    for (const train::Answer& answer : said.answers) answers.push_back(answer.outputs);
    return answers;
  }
  std::vector<float> saliency(const data::Record& record, int64_t label) override {
    const data::Batch batch =
        data::make_batch(data::Part(std::vector{record}), encoder_, std::array<int64_t, 1>{0}, 1);
    const torch::Tensor weights =
        models::saliency(*saved_.model, train::to_sequences(batch, torch::kCPU).front(),
                         torch::tensor({label}))
            .contiguous();
    return {weights.data_ptr<float>(), weights.data_ptr<float>() + weights.numel()};
  }

 private:
  train::SavedModel saved_;
  data::Encoder encoder_;
};

}  // namespace

std::unique_ptr<AnyLanguageModel> TorchModels::open_language_model(const std::filesystem::path& path,
                                                                   int threads) const {
  ops::set_threads(threads);
  return std::make_unique<TorchLanguageModel>(train::load_language_model(path));
}

std::unique_ptr<AnyClassifier> TorchModels::open_classifier(const std::filesystem::path& path,
                                                            int threads) const {
  ops::set_threads(threads);
  return std::make_unique<TorchClassifier>(train::load_model(path));
}

AnyTranslator TorchModels::open_translator(const std::filesystem::path& path, int threads) const {
  ops::set_threads(threads);
  const train::SavedTranslationModel saved = train::load_translation_model(path);
  const TranslationOptions& options = *translation_options(saved.options);
  return {std::make_shared<models::TranslationDecoder>(saved.model), saved.signature, options.source_types(),
          options.vocabulary};
}

}  // namespace mega::cli
