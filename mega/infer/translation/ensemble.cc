#include "mega/infer/translation/ensemble.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/kernels/log_softmax.h"

namespace mega::infer {

Ensemble::Ensemble(std::vector<std::shared_ptr<StepDecoder>> models) : models_(std::move(models)) {
  require(!models_.empty(), "an ensemble needs at least one model");
  for (const auto& model : models_)
    require(model->vocabulary() == vocabulary(), "models of ", vocabulary(), " and of ", model->vocabulary(),
            " target tokens cannot translate together: an ensemble needs models of one vocabulary");
}

int64_t Ensemble::max_positions() const {
  int64_t fewest = models_.front()->max_positions();
  for (const auto& model : models_) fewest = std::min(fewest, model->max_positions());
  return fewest;
}

void Ensemble::begin(std::span<const std::vector<Token>> sources) {
  sources_.assign(sources.begin(), sources.end());
  for (const auto& model : models_) model->begin(sources);
}

// All or none: columns must be the same.
bool Ensemble::restrict(std::span<const Token> tokens) {
  for (const auto& model : models_)
    if (!model->restrict(tokens)) {
      begin(std::vector<std::vector<Token>>(sources_));
      return false;
    }
  return true;
}

std::span<const float> Ensemble::step(std::span<const int64_t> parents, std::span<const Token> tokens) {
  std::vector<const float*> rows;
  size_t size = 0;
  for (const auto& model : models_) {
    const auto own = model->step(parents, tokens);
    require(rows.empty() || own.size() == size, "the models of an ensemble gave ", size, " and ", own.size(),
            " log-probabilities");
    size = own.size();
    rows.push_back(own.data());
  }
  mean_.resize(size);
  kernels::log_mean(rows.data(), std::ssize(rows), mean_.data(), std::ssize(mean_));
  return mean_;
}

std::span<const float> Ensemble::alignment(int64_t row) const {
  alignment_.clear();
  for (const auto& model : models_) {
    const auto own = model->alignment(row);
    if (own.empty()) continue;
    alignment_.resize(own.size());
    for (size_t i = 0; i < own.size(); ++i) alignment_[i] += own[i];
  }
  float sum = 0.0f;
  for (const float weight : alignment_) sum += weight;
  if (sum > 0.0f)
    for (float& weight : alignment_) weight /= sum;
  return alignment_;
}

}  // namespace mega::infer
