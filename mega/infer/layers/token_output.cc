#include "mega/infer/layers/token_output.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/infer/layers/check_tokens.h"
#include "mega/infer/layers/tanh.h"
#include "mega/infer/softmax.h"

namespace mega::infer {
namespace {

using kernels::ConstRows;
using kernels::Rows;

// log Σ exp(x).
double log_sum(const float* x, int64_t count) { return exp_sum({x, static_cast<size_t>(count)}).log(); }

}  // namespace

TokenOutput::TokenOutput(WeightFile& file, const std::string& name, const TokenOptions& options,
                         int64_t width, const TokenEmbedding& embedding)
    : vocabulary_(options.vocabulary), width_(width), frequent_(options.vocabulary) {
  if (options.cutoffs.empty()) {
    head_.emplace_back(options.tie_output
                           ? embedding.weights()
                           : file.matrix(name + ".output_projection.weight", vocabulary_, width));
    require(head_[0].weights.depth == width, "the output layer has width ", head_[0].weights.depth,
            ", the model has ", width);
    if (options.output_bias)
      head_[0].bias = file.numbers(name + ".output_projection.bias", vocabulary_).data();
    if (options.output_dense) dense_.emplace(file, name + ".output_dense", width, width);
    return;
  }
  const int64_t own = options.embedding_width > 0 ? options.embedding_width : width;
  const auto bands = make_bands(options.cutoffs, vocabulary_, own, options.band_factor);
  const std::string embeddings = name + ".embed_tokens.embeddings.", softmax = name + ".adaptive_softmax.";
  frequent_ = bands[0].end;
  head_.emplace_back(file.matrix(embeddings + "0.0.weight", frequent_, width));
  head_.emplace_back(file.matrix(softmax + "head.class_proj.weight", std::ssize(bands) - 1, width));
  for (size_t i = 1; i < bands.size(); ++i) {
    const std::string number = std::to_string(i), tail = softmax + "tail." + std::to_string(i - 1);
    const int64_t reduced = bands[i].width;
    tails_.push_back(
        {bands[i],
         Linear(options.tie_projections ? file.transposed(embeddings + number + ".1.weight", reduced, width)
                                        : file.matrix(tail + ".0.weight", reduced, width)),
         Linear(file.matrix(embeddings + number + ".0.weight", bands[i].size(), reduced))});
  }
}

void TokenOutput::tail_logits(const Tail& tail, ConstRows features, Rows out, int64_t rows,
                              const Run& run) const {
  const Rows reduced{run.work.floats(Workspace::kReduced, rows * tail.band.width), tail.band.width};
  multiply(tail.reduction, features, reduced, rows, run);
  multiply(tail.output, {reduced.data, reduced.stride}, out, rows, run);
}

ConstRows TokenOutput::before(ConstRows features, int64_t rows, const Run& run) const {
  if (!dense_) return features;
  const Rows hidden{run.work.floats(Workspace::kHidden, rows * width_), width_};
  multiply(*dense_, features, hidden, rows, run);
  apply_tanh(hidden, rows, width_, run);
  return {hidden.data, hidden.stride};
}

void TokenOutput::logits(ConstRows features, Rows out, int64_t rows, const Run& run) const {
  if (tails_.empty()) return multiply(head_[0], before(features, rows, run), out, rows, run);
  // The logits of the tails are stored in the places of the first rare tokens until those are computed.
  const Product head[] = {{head_[0], features, out},
                          {head_[1], features, {out.data + frequent_, out.stride}}};
  multiply(head, rows, run);
  std::vector<double> chosen;
  const int64_t choices = frequent_ + std::ssize(tails_);
  for (int64_t row = 0; row < rows; ++row) {
    const double sum = log_sum(out[row], choices);
    for (int64_t i = 0; i < frequent_; ++i) out[row][i] -= static_cast<float>(sum);
    for (int64_t i = frequent_; i < choices; ++i) chosen.push_back(static_cast<double>(out[row][i]) - sum);
  }
  for (size_t i = 0; i < tails_.size(); ++i) {
    const Tail& tail = tails_[i];
    tail_logits(tail, features, {out.data + tail.band.begin, out.stride}, rows, run);
    run.rows(rows, tail.band.size(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* own = out[row] + tail.band.begin;
        const double shift =
            chosen[static_cast<size_t>(row) * tails_.size() + i] - log_sum(own, tail.band.size());
        for (int64_t k = 0; k < tail.band.size(); ++k) own[k] += static_cast<float>(shift);
      }
    });
  }
}

// A few rows at a time: with a large vocabulary, the scores of all rows would not fit into memory.
void TokenOutput::log_probabilities(ConstRows features, std::span<const int32_t> tokens, std::span<float> out,
                                    const Run& run) const {
  constexpr int64_t kNumbers = 1 << 21;
  const auto score = [&](ConstRows x, int64_t rows, int64_t count, const auto& compute, const auto& use) {
    const int64_t step = std::clamp<int64_t>(kNumbers / count, 1, rows);
    const Rows logits{run.work.floats(Workspace::kLogits, step * count), count};
    for (int64_t first = 0; first < rows; first += step) {
      const int64_t some = std::min(step, rows - first);
      compute(ConstRows{x[first], x.stride}, logits, some);
      run.rows(some, count, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          use(static_cast<size_t>(first + row), logits[row], log_sum(logits[row], count));
      });
    }
  };
  check_tokens(tokens, vocabulary_);
  features = before(features, std::ssize(tokens), run);

  const int64_t choices = frequent_ + std::ssize(tails_);
  std::vector<std::vector<int64_t>> members(tails_.size());  // rows whose token is in that tail
  for (size_t row = 0; row < tokens.size(); ++row)
    for (size_t i = 0; i < tails_.size(); ++i)
      if (tokens[row] >= tails_[i].band.begin && tokens[row] < tails_[i].band.end)
        members[i].push_back(static_cast<int64_t>(row));
  const auto choice = [&](size_t row) {
    for (size_t i = 0; i < tails_.size(); ++i)
      if (tokens[row] >= tails_[i].band.begin && tokens[row] < tails_[i].band.end)
        return frequent_ + static_cast<int64_t>(i);
    return static_cast<int64_t>(tokens[row]);
  };
  score(
      features, std::ssize(tokens), choices,
      [&](ConstRows x, Rows logits, int64_t rows) {
        std::vector<Product> products;
        int64_t column = 0;
        for (const Linear& part : head_) {
          products.push_back({part, x, {logits.data + column, logits.stride}});
          column += part.weights.rows;
        }
        multiply(products, rows, run);
      },
      [&](size_t row, const float* logits, double sum) {
        out[row] = static_cast<float>(static_cast<double>(logits[choice(row)]) - sum);
      });
  for (size_t i = 0; i < tails_.size(); ++i) {
    const Tail& tail = tails_[i];
    if (members[i].empty()) continue;
    const Rows own{run.work.floats(Workspace::kEmbedded, std::ssize(members[i]) * width_), width_};
    for (size_t k = 0; k < members[i].size(); ++k)
      std::copy_n(features[members[i][k]], width_, own[static_cast<int64_t>(k)]);
    score(
        ConstRows{own.data, own.stride}, std::ssize(members[i]), tail.band.size(),
        [&](ConstRows x, Rows logits, int64_t rows) { tail_logits(tail, x, logits, rows, run); },
        [&](size_t k, const float* logits, double sum) {
          const auto row = static_cast<size_t>(members[i][k]);
          out[row] += static_cast<float>(static_cast<double>(logits[tokens[row] - tail.band.begin]) - sum);
        });
  }
}

}  // namespace mega::infer
