#include "mega/infer/models/translator_decoder.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/infer/layers/check_tokens.h"
#include "mega/kernels/log_softmax.h"

namespace mega::infer {

TranslatorDecoder::TranslatorDecoder(std::shared_ptr<const Translator> model,
                                     std::shared_ptr<ThreadPool> pool, CacheType cache)
    : model_(std::move(model)), pool_(std::move(pool)), cache_(weight_type(cache)) {
  require(pool_ != nullptr, "a decoder needs a thread pool");
}

void TranslatorDecoder::begin(std::span<const std::vector<Token>> sources) {
  rows_.clear();
  restricted_.reset();
  weights_ = {};
  first_ = true;
  sources_ = model_->encode(sources, {*pool_, work_});
}

bool TranslatorDecoder::restrict(std::span<const Token> tokens) {
  check_tokens(tokens, vocabulary());
  restricted_.emplace(model_->output().weights, tokens);
  return true;
}

std::vector<TranslatorDecoder::Row> TranslatorDecoder::first_rows(std::span<const int64_t> parents) const {
  std::vector<Row> rows;
  for (const int64_t source : parents) {
    require(source >= 0 && source < std::ssize(sources_.ranges), "there is no source ", source, " among ",
            sources_.ranges.size());
    rows.push_back({model_->initial_state(cache_), static_cast<size_t>(source)});
  }
  return rows;
}

// The last child of a row gets its state, the others a copy.
std::vector<TranslatorDecoder::Row> TranslatorDecoder::next_rows(std::span<const int64_t> parents) {
  std::vector<int64_t> heir(rows_.size(), -1);
  for (size_t r = 0; r < parents.size(); ++r) {
    require(parents[r] >= 0 && parents[r] < std::ssize(rows_), "there is no row ", parents[r], " among ",
            rows_.size(), " of the step before");
    heir[static_cast<size_t>(parents[r])] = static_cast<int64_t>(r);
  }
  std::vector<Row> rows(parents.size());
  pool_->run(std::ssize(parents), 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto parent = static_cast<size_t>(parents[static_cast<size_t>(r)]);
      if (heir[parent] != r) rows[static_cast<size_t>(r)] = rows_[parent];
    }
  });
  for (size_t parent = 0; parent < rows_.size(); ++parent)
    if (heir[parent] >= 0) rows[static_cast<size_t>(heir[parent])] = std::move(rows_[parent]);
  return rows;
}

std::span<const float> TranslatorDecoder::step(std::span<const int64_t> parents,
                                               std::span<const Token> tokens) {
  require(parents.size() == tokens.size(), parents.size(), " parents, but ", tokens.size(), " tokens");
  rows_ = first_ ? first_rows(parents) : next_rows(parents);
  first_ = false;
  std::vector<Segment> segments;
  for (Row& row : rows_) segments.push_back({&row.state, std::ssize(segments), 1, row.source});
  const Run run{*pool_, work_};
  const int64_t rows = std::ssize(tokens), longest = sources_.longest();
  weights_.rows = {run.work.floats(Workspace::kWeights, rows * longest), longest};
  const kernels::Rows features = model_->read(tokens, segments, sources_, run, &weights_);

  const Linear& output = restricted_ ? restricted_->linear() : model_->output();
  const int64_t columns = output.weights.rows;
  if (std::ssize(log_probabilities_) < rows * columns)
    log_probabilities_.resize(static_cast<size_t>(rows * columns));
  const kernels::Rows scores{log_probabilities_.data(), columns};
  multiply(output, {features.data, features.stride}, scores, rows, run);
  run.rows(rows, columns, [&](int64_t begin, int64_t end) {
    kernels::log_softmax({scores.data, scores.stride}, scores, begin, end, columns);
  });
  return {log_probabilities_.data(), static_cast<size_t>(rows * columns)};
}

std::span<const float> TranslatorDecoder::alignment(int64_t row) const {
  require(row >= 0 && row < std::ssize(rows_), "there is no row ", row, " among ", rows_.size());
  const SourceRange& source = sources_.ranges[rows_[static_cast<size_t>(row)].source];
  return {weights_.rows[row], static_cast<size_t>(source.length)};
}

int64_t TranslatorDecoder::state_bytes() const {
  int64_t sum = 0;
  for (const Row& row : rows_) sum += row.state.bytes();
  return sum;
}

}  // namespace mega::infer
