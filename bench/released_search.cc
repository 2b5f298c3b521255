#include "bench/released_search.h"

#include <cmath>
#include <limits>

#include "mega/ops/torch.h"

namespace mega::bench {
namespace {

using torch::Tensor;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// A sentence that is not finished.
struct Open {
  size_t sentence;
  int64_t longest;  // tokens before </s>
  int64_t finished = 0;
  double best = -std::numeric_limits<double>::infinity();
  int64_t best_length = 0;
};

class Search {
 public:
  Search(infer::StepDecoder& decoder, std::span<const infer::SearchSentence> sentences,
         const infer::SearchOptions& options)
      : decoder_(decoder), options_(options), beam_(options.beam), lengths_(sentences.size()) {
    std::vector<std::vector<Token>> sources;
    for (size_t i = 0; i < sentences.size(); ++i) {
      sources.push_back(sentences[i].source);
      const double longest = options.max_length_factor * static_cast<double>(sources.back().size());
      open_.push_back({i, static_cast<int64_t>(longest) + options.max_length_extra});
      parents_.insert(parents_.end(), static_cast<size_t>(beam_), static_cast<int64_t>(i));
    }
    tokens_.assign(parents_.size(), Token{kEnd});
    decoder.begin(sources);
  }

  std::vector<int64_t> run() {
    const torch::NoGradGuard guard;
    for (int64_t step = 0; !open_.empty(); ++step) extend(step);
    return lengths_;
  }

 private:
  // (sentences, beam, vocabulary), with what cannot be chosen made impossible.
  Tensor log_probabilities(int64_t step) {
    const std::span<const float> numbers = decoder_.step(parents_, tokens_);
    const int64_t rows = std::ssize(tokens_), types = decoder_.vocabulary();
    Tensor scores = torch::from_blob(const_cast<float*>(numbers.data()), {rows, types});
    scores.masked_fill_(scores != scores, kLowest);
    scores.select(1, kPad).fill_(kLowest);
    if (step < options_.min_length) scores.select(1, kEnd).fill_(kLowest);
    scores = scores.view({std::ssize(open_), beam_, types});
    for (int64_t i = 0; i < std::ssize(open_); ++i)
      if (step >= open_[static_cast<size_t>(i)].longest) {
        const Tensor end = scores[i].select(1, kEnd).clone();
        scores[i].fill_(kLowest);
        scores[i].select(1, kEnd).copy_(end);
      }
    return scores;
  }

  void extend(int64_t step) {
    Tensor scores = log_probabilities(step);
    // In the first step, all hypotheses of a sentence are the same.
    scores = step == 0 ? scores.slice(1, 0, 1) : scores + sums_.unsqueeze(-1);
    const int64_t types = scores.size(2);
    const auto [best, index] = scores.reshape({scores.size(0), -1}).topk(2 * beam_);
    const Tensor hypothesis = index.div(types, "floor"), token = index.fmod(types);
    const auto sum_of = best.accessor<float, 2>();
    const auto hypothesis_of = hypothesis.accessor<int64_t, 2>(), token_of = token.accessor<int64_t, 2>();

    parents_.clear();
    tokens_.clear();
    std::vector<Open> open;
    std::vector<float> sums;
    for (int64_t i = 0; i < std::ssize(open_); ++i) {
      Open one = open_[static_cast<size_t>(i)];
      for (int64_t k = 0; k < beam_; ++k)
        if (token_of[i][k] == kEnd) finish(one, sum_of[i][k], step + 1);
      if (one.finished >= beam_) {
        lengths_[one.sentence] = one.best_length;
        continue;
      }
      int64_t chosen = 0;
      for (int64_t k = 0; k < 2 * beam_ && chosen < beam_; ++k) {
        if (token_of[i][k] == kEnd) continue;
        parents_.push_back(i * beam_ + hypothesis_of[i][k]);
        tokens_.push_back(static_cast<Token>(token_of[i][k]));
        sums.push_back(sum_of[i][k]);
        ++chosen;
      }
      open.push_back(one);
    }
    open_ = std::move(open);
    sums_ = torch::tensor(sums).view({-1, beam_});
  }

  void finish(Open& one, float sum, int64_t length) const {
    if (sum == kLowest) return;
    ++one.finished;
    const double score =
        static_cast<double>(sum) / std::pow(static_cast<double>(length), options_.length_penalty);
    if (score <= one.best) return;
    one.best = score;
    one.best_length = length;
  }

  infer::StepDecoder& decoder_;
  const infer::SearchOptions& options_;
  int64_t beam_;
  std::vector<int64_t> lengths_;
  std::vector<Open> open_;
  std::vector<int64_t> parents_;
  std::vector<Token> tokens_;
  Tensor sums_;  // (sentences, beam), log-probabilities of the hypotheses
};

}  // namespace

std::vector<int64_t> released_search(infer::StepDecoder& decoder,
                                     std::span<const infer::SearchSentence> sentences,
                                     const infer::SearchOptions& options) {
  return Search(decoder, sentences, options).run();
}

}  // namespace mega::bench
