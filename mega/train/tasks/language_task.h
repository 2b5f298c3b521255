// The task of language models: predict the next token of a running text.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/recipe/language_recipe.h"
#include "mega/config/recipe/shared_sequences.h"
#include "mega/data/corpus/corpus.h"
#include "mega/models/token_model.h"
#include "mega/train/evaluation/text_evaluation.h"
#include "mega/train/tasks/batch_task.h"

namespace mega::train {

// What a model is chosen and judged by: bits per byte or per character, where those are the tokens, else the
// perplexity of a token.
Scores text_scores(const infer::ScoreResult& result, TextUnits units);

class LanguageTask : public BatchTask {
 public:
  // The corpus must outlive the task. Weights are initialised from the recipe's seed.
  LanguageTask(const Recipe& recipe, const data::Corpus& corpus, torch::Device device);

  torch::nn::Module& model() override { return *model_; }
  std::vector<TensorInfo> tensors() const override { return recipe_.model.kind().tensors(); }

  int64_t draw(int64_t batches) override;
  void restart() override;
  const char* unit() const override { return "tokens"; }
  EvaluationSizes evaluation_sizes() const override { return {corpus_.valid.size(), corpus_.test.size()}; }
  void limit_evaluations(const EvaluationSizes& most) override { limits_ = most; }
  Scores evaluate() override;
  std::string sample() override;
  Scores test(Report& report) override;
  double chance() const override { return -1.0; }
  void report(Report&) const override {}
  ops::NamedTensors state() const override;
  void load_state(const Safetensors& file) override;
  void save(const std::filesystem::path& path, const ops::NamedTensors& weights) const override;

 protected:
  std::unique_ptr<data::BatchSource> make_source() const override;
  BatchLoss batch_loss(int64_t batch) override;
  int64_t piece_unit() const override { return mega::piece_unit(recipe_); }
  bool one_loss() const override { return false; }
  int64_t count(const data::Batch& batch) const override { return batch.positions; }

 private:
  Scores evaluate_on(const data::TokenView& text, int64_t limit);

  Recipe recipe_;
  const data::Corpus& corpus_;
  torch::Device device_;
  std::shared_ptr<models::TokenModel> model_;
  EvaluationSizes limits_;
  // With train.blocks.carry: the state before the batches of an update, and after each of them, so that the
  // loss of a batch can be recomputed.
  const nn::State& carried() const { return after_.empty() ? carried_ : after_.back(); }
  nn::State carried_;
  std::vector<nn::State> after_;
};

}  // namespace mega::train
