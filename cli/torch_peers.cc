#include "cli/torch_peers.h"

#include <algorithm>

#include "mega/baselines/factory.h"
#include "mega/models/token_predictor.h"
#include "mega/ops/runtime.h"
#include "mega/text/tokens.h"
#include "mega/train/evaluation.h"
#include "mega/train/saved_model.h"
#include "mega/train/text_evaluation.h"

namespace mega::cli {
namespace {

class TorchLanguageModel : public AnyLanguageModel {
 public:
  explicit TorchLanguageModel(train::SavedLanguageModel saved) : saved_(std::move(saved)) {}

  // Reads as when it is evaluated.
  std::unique_ptr<infer::Predictor> make() const override {
    const auto& options = std::get<TransformerLanguageOptions>(saved_.options.model);
    const models::SlidingWindow window{options.window, std::min(options.stride, options.window)};
    return std::make_unique<models::TokenPredictor>(saved_.model, torch::kCPU, window);
  }
  const Tokenizer& tokenizer() const override { return *saved_.tokenizer; }
  infer::ScoreResult score(const data::TokenView& text, const infer::Scored& scored) override {
    train::TextReading reading;
    reading.scored = scored;
    return train::evaluate_text(*saved_.model, saved_.options, text, reading).score;
  }

 private:
  train::SavedLanguageModel saved_;
};

class TorchClassifier : public AnyClassifier {
 public:
  explicit TorchClassifier(train::SavedModel saved)
      : saved_(std::move(saved)), encoder_(saved_.signature, cls_token(*sequence_options(saved_.options))) {}

  const Signature& signature() const override { return saved_.signature; }
  int documents() const override { return static_cast<int>(baselines::documents(saved_.options)); }
  std::vector<std::vector<float>> answers(std::vector<data::Record> records) override {
    const data::Part part(std::move(records));
    const train::Evaluation said = train::evaluate(*saved_.model, part, encoder_, documents(), {});
    std::vector<std::vector<float>> answers;
    for (const train::Answer& answer : said.answers) answers.push_back(answer.outputs);
    return answers;
  }

 private:
  train::SavedModel saved_;
  data::Encoder encoder_;
};

}  // namespace

std::unique_ptr<AnyLanguageModel> TorchPeers::open_language_model(const std::filesystem::path& path,
                                                                  int threads) const {
  ops::set_threads(threads);
  return std::make_unique<TorchLanguageModel>(train::load_language_model(path));
}

std::unique_ptr<AnyClassifier> TorchPeers::open_classifier(const std::filesystem::path& path,
                                                           int threads) const {
  ops::set_threads(threads);
  return std::make_unique<TorchClassifier>(train::load_model(path));
}

}  // namespace mega::cli
