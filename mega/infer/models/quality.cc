#include "mega/infer/models/quality.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mega/base/error.h"
#include "mega/infer/generation/log_probability.h"
#include "mega/infer/models/answer.h"
#include "mega/infer/models/side_by_side.h"
#include "mega/infer/softmax.h"
#include "mega/text/tokens.h"

namespace mega::infer {
namespace {

size_t likeliest(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

class AgreementMean {
 public:
  void add(const Agreement& one) {
    divergence_ += one.divergence;
    same_ += one.same;
    count_ += 1.0;
  }
  Agreement value() const { return {divergence_ / count_, same_ / count_}; }

 private:
  double divergence_ = 0.0, same_ = 0.0, count_ = 0.0;
};

// A language model and its position in the text.
class TextReader {
 public:
  explicit TextReader(const LanguageModel& model)
      : model_(model), state_(model.initial_state(kernels::WeightType::f32)) {}

  // The logits (tokens, vocabulary) after each token.
  kernels::Rows read(std::span<const int32_t> tokens, ThreadPool& pool) {
    const Run run{pool, work_};
    const Segment segment{&state_, 0, std::ssize(tokens)};
    const kernels::Rows features = model_.read(tokens, {&segment, 1}, run);
    const int64_t vocabulary = model_.output().vocabulary();
    logits_.resize(tokens.size() * static_cast<size_t>(vocabulary));
    const kernels::Rows logits{logits_.data(), vocabulary};
    model_.output().logits({features.data, features.stride}, logits, segment.length, run);
    return logits;
  }

 private:
  const LanguageModel& model_;
  State state_;
  Workspace work_;
  std::vector<float> logits_;
};

data::TextCounts share_of(const data::TextCounts& counts, int64_t part, int64_t whole) {
  const auto share = [&](int64_t count) {
    return static_cast<int64_t>(
        std::llround(static_cast<double>(count) * static_cast<double>(part) / static_cast<double>(whole)));
  };
  return {share(counts.characters), share(counts.bytes), share(counts.unknown), share(counts.lines)};
}

int64_t limited(int64_t count, const ComparisonOptions& options) {
  return options.limit > 0 ? std::min(options.limit, count) : count;
}

// Loss of an answer: 1 or 0 for a class, mean squared error in the units of the data for numbers.
class Loss {
 public:
  Loss(const Signature& signature, const data::Part& part) : signature_(signature), part_(part) {}

  bool classes() const { return !signature_.classes.empty(); }

  double operator()(std::span<const float> outputs, size_t example) const {
    if (classes()) return static_cast<int64_t>(likeliest(outputs)) == part_.labels[example] ? 0.0 : 1.0;
    const std::vector<float> said = to_answer(outputs, signature_);
    double squares = 0.0;
    for (size_t i = 0; i < said.size(); ++i)
      squares += std::pow(static_cast<double>(said[i] - part_.targets[example * said.size() + i]), 2);
    return squares / static_cast<double>(outputs.size());
  }

  // Accuracy or root mean squared error from the mean loss.
  double metric(double mean) const { return classes() ? 1.0 - mean : std::sqrt(mean); }

 private:
  const Signature& signature_;
  const data::Part& part_;
};

}  // namespace

Agreement compare_logits(std::span<const float> before, std::span<const float> after) {
  require(!before.empty() && before.size() == after.size(), before.size(), " and ", after.size(),
          " choices cannot be compared");
  // With p = e^a / A and q = e^b / B: the sum of p log(p / q) is the mean under p of a - b, less log A, plus
  // log B.
  const ExpSum p = exact_exp_sum(before), q = exact_exp_sum(after);
  double difference = 0.0;
  for (size_t i = 0; i < before.size(); ++i) {
    const double a = static_cast<double>(before[i] - p.max), b = static_cast<double>(after[i] - q.max);
    difference += std::exp(a) * (a - b);
  }
  const double divergence = difference / p.sum - std::log(p.sum) + std::log(q.sum);
  require(std::isfinite(divergence), "the outputs of a model are not finite: it is broken");
  return {std::max(0.0, divergence), likeliest(before) == likeliest(after) ? 1.0 : 0.0};
}

TextQuality compare_on_text(const LanguageModel& before, const LanguageModel& after,
                            const data::TokenView& text, ThreadPool& pool, const ComparisonOptions& options) {
  const int64_t vocabulary = before.output().vocabulary(), length = limited(text.size(), options);
  require(length > 0, "there is no text to compare on");
  require(vocabulary == after.output().vocabulary(), "the models have different vocabularies: ", vocabulary,
          " and ", after.output().vocabulary(), " token types");
  constexpr int64_t kLogits = 1 << 21;  // kept in memory per model
  const int64_t piece = std::clamp<int64_t>(kLogits / vocabulary, 1, 512);

  TextReader first(before), second(after);
  TextScore score_before, score_after;
  AgreementMean agreement;
  std::vector<int32_t> tokens = {kEnd};  // the one before a piece, then the piece
  for (int64_t begin = 0; begin < length; begin += piece) {
    const int64_t count = std::min(piece, length - begin);
    const auto size = static_cast<size_t>(count);
    tokens.resize(1 + size);
    text.file->copy(text.begin + begin, count, tokens.data() + 1);
    before.check_tokens(tokens);
    const auto read = std::span(tokens).first(size);
    const kernels::Rows logits_before = first.read(read, pool), logits_after = second.read(read, pool);

    std::vector<Agreement> agreements(size);
    std::vector<float> scored_before(size), scored_after(size);
    pool.run(count, 1, [&](int64_t from, int64_t to) {
      for (int64_t row = from; row < to; ++row) {
        const auto i = static_cast<size_t>(row), choices = static_cast<size_t>(vocabulary);
        const std::span<const float> a(logits_before[row], choices), b(logits_after[row], choices);
        agreements[i] = compare_logits(a, b);
        scored_before[i] = static_cast<float>(log_probability(a, tokens[i + 1]));
        scored_after[i] = static_cast<float>(log_probability(b, tokens[i + 1]));
      }
    });
    for (const Agreement& one : agreements) agreement.add(one);
    score_before.add(scored_before, {});
    score_after.add(scored_after, {});
    tokens.front() = tokens.back();
    if (options.progress) options.progress(begin + count);
  }
  const data::TextCounts counts = share_of(text.counts, length, text.size());
  score_before.add({}, counts);
  score_after.add({}, counts);
  return {score_before.result(), score_after.result(), agreement.value()};
}

ExampleQuality compare_on_examples(const SequenceModel& before, const SequenceModel& after,
                                   const data::Part& part, ThreadPool& pool,
                                   const ComparisonOptions& options) {
  require(before.documents() == after.documents() && before.options().classes == after.options().classes,
          "the models have different tasks");
  ExampleQuality quality;
  quality.examples = limited(part.size(), options);
  require(quality.examples > 0, "there are no examples to compare on");
  const Loss loss(before.signature(), part);
  SideBySide first(before, pool), second(after, pool);
  AgreementMean agreement;
  constexpr size_t kTogether = 64, kMostBytes = size_t{64} << 20;
  for (int64_t done = 0; done < quality.examples;) {
    const auto begin = static_cast<size_t>(done);
    std::vector<data::Record> records;
    for (size_t bytes = 0; done < quality.examples && records.size() < kTogether && bytes < kMostBytes;) {
      records.push_back(part.get(done++));
      bytes += content_bytes(records.back());
    }
    const auto a = first.outputs(records), b = second.outputs(records);
    for (size_t i = 0; i < records.size(); ++i) {
      quality.before += loss(a[i], begin + i);
      quality.after += loss(b[i], begin + i);
      if (loss.classes()) agreement.add(compare_logits(a[i], b[i]));
    }
    if (options.progress) options.progress(done);
  }
  const double count = static_cast<double>(quality.examples);
  quality.before = loss.metric(quality.before / count);
  quality.after = loss.metric(quality.after / count);
  if (loss.classes()) quality.agreement = agreement.value();
  return quality;
}

}  // namespace mega::infer
