// The task of translators: write the target of a pair, given its source.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/parallel/parallel_corpus.h"
#include "mega/models/translation_model.h"
#include "mega/train/evaluation/translation_evaluation.h"
#include "mega/train/tasks/batch_task.h"

namespace mega::train {

// What evaluations count is steps of the model: reading a target token is one, and writing one by beam search
// costs as much as reading several.
class TranslationTask : public BatchTask {
 public:
  // The corpus must outlive the task. Weights are initialised from the recipe's seed.
  TranslationTask(const Recipe& recipe, const data::ParallelCorpus& corpus, Signature signature,
                  torch::Device device);

  torch::nn::Module& model() override { return *model_; }
  std::vector<TensorInfo> tensors() const override { return recipe_.model.kind().tensors(); }

  const char* unit() const override { return "token steps"; }
  EvaluationSizes evaluation_sizes() const override;
  void limit_evaluations(const EvaluationSizes& most) override { limits_ = most; }
  Scores evaluate() override;
  // The first translations of the last evaluation.
  std::string sample() override;
  // Every test set: BLEU of the published search, loss and perplexity, with the set's name where there are
  // several. The first set's BLEU comes first.
  Scores test(Report& report) override;
  double chance() const override { return -1.0; }
  void report(Report&) const override {}
  void save(const std::filesystem::path& path, const ops::NamedTensors& weights) const override;

 protected:
  std::unique_ptr<data::BatchSource> make_source() const override;
  BatchLoss batch_loss(int64_t batch) override;
  int64_t count(const data::Batch& batch) const override;

 private:
  PairReading validation() const;
  PairEvaluation evaluate_on(const data::PairPart& part, std::span<const data::Pair> written,
                             const PairReading& reading);

  Recipe recipe_;
  const data::ParallelCorpus& corpus_;
  Signature signature_;
  TranslationText target_;
  torch::Device device_;
  std::shared_ptr<models::TranslationModel> model_;
  EvaluationSizes limits_;
  std::vector<data::Pair> written_;  // the validation pairs as text, once they are needed
  std::vector<Translation> translations_;
};

}  // namespace mega::train
