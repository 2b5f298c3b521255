// A translator that is a function: the logits of the next token, by source and target so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "mega/base/random.h"
#include "mega/infer/translation/step_decoder.h"

namespace mega::testing {

class TableDecoder : public infer::StepDecoder {
 public:
  using Tokens = std::vector<Token>;
  // Gets the target without its first </s>.
  using Table = std::function<std::vector<float>(const Tokens& source, const Tokens& target)>;

  TableDecoder(int64_t vocabulary, Table logits) : vocabulary_(vocabulary), logits_(std::move(logits)) {}

  // Random distributions, `spread` apart, the same for the same seed, source and target.
  static TableDecoder random(int64_t vocabulary, uint64_t seed, double spread = 2.0) {
    return TableDecoder(vocabulary, [=](const Tokens& source, const Tokens& target) {
      uint64_t stream = stream_seed(seed, "source");
      for (const Token token : source) stream = stream_seed(stream, "token", static_cast<uint64_t>(token));
      stream = stream_seed(stream, "target");
      for (const Token token : target) stream = stream_seed(stream, "token", static_cast<uint64_t>(token));
      Random draws(stream);
      std::vector<float> logits;
      for (int64_t i = 0; i < vocabulary; ++i) logits.push_back(static_cast<float>(spread * draws.unit()));
      return logits;
    });
  }

  bool can_restrict = true;
  int64_t positions = 1 << 20;
  int64_t steps = 0, rows = 0;  // how many there were

  std::vector<float> log_probabilities(const Tokens& source, const Tokens& target) const {
    std::vector<float> logits = logits_(source, target), kept;
    if (restricted_.empty()) {
      kept = logits;
    } else {
      for (const Token token : restricted_) kept.push_back(logits[static_cast<size_t>(token)]);
    }
    double sum = 0.0;
    for (const float x : kept) sum += std::exp(static_cast<double>(x));
    for (float& x : kept) x = static_cast<float>(static_cast<double>(x) - std::log(sum));
    return kept;
  }

  int64_t vocabulary() const override { return vocabulary_; }
  int64_t max_positions() const override { return positions; }
  void begin(std::span<const Tokens> sources) override {
    sources_.assign(sources.begin(), sources.end());
    restricted_.clear();
    hypotheses_.clear();
    for (size_t i = 0; i < sources.size(); ++i) hypotheses_.push_back({i, {}});
    first_ = true;
  }
  bool restrict(std::span<const Token> tokens) override {
    if (can_restrict) restricted_.assign(tokens.begin(), tokens.end());
    return can_restrict;
  }
  std::span<const float> step(std::span<const int64_t> parents, std::span<const Token> tokens) override {
    ++steps;
    rows += std::ssize(parents);
    std::vector<Row> next;
    scores_.clear();
    for (size_t i = 0; i < parents.size(); ++i) {
      Row row = hypotheses_.at(static_cast<size_t>(parents[i]));
      if (!first_) row.target.push_back(tokens[i]);
      for (const float x : log_probabilities(sources_[row.source], row.target)) scores_.push_back(x);
      next.push_back(std::move(row));
    }
    hypotheses_ = std::move(next);
    first_ = false;
    return scores_;
  }
  // Target position i is aligned to source position i, as far as there is one.
  std::span<const float> alignment(int64_t row) const override {
    const Row& own = hypotheses_[static_cast<size_t>(row)];
    weights_.assign(sources_[own.source].size(), 0.0f);
    weights_[std::min(own.target.size(), weights_.size() - 1)] = 1.0f;
    return weights_;
  }

 private:
  struct Row {
    size_t source;
    Tokens target;
  };
  int64_t vocabulary_;
  Table logits_;
  std::vector<Tokens> sources_;
  Tokens restricted_;
  std::vector<Row> hypotheses_;
  std::vector<float> scores_;
  mutable std::vector<float> weights_;
  bool first_ = true;
};

}  // namespace mega::testing
