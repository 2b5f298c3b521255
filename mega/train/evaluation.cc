#include "mega/train/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/train/batch_tensors.h"

namespace mega::train {
namespace {

using torch::Tensor;

constexpr double k95 = 1.96;  // of a normal distribution lie within so many deviations
constexpr size_t kShown = 12;

struct Mean {
  double sum = 0.0, squares = 0.0, count = 0.0;

  void add(double x) {
    sum += x;
    squares += x * x;
    count += 1.0;
  }
  double value() const { return count > 0 ? sum / count : 0.0; }
  double variance() const { return std::max(0.0, squares / std::max(1.0, count) - value() * value()); }
  double interval() const { return count > 1 ? k95 * std::sqrt(variance() / count) : 0.0; }
};

// The examples of `order` as rows of the report.
std::vector<Report::ExampleRow> rows(const Evaluation& evaluation, const data::Part& part,
                                     const std::vector<std::string>& classes, std::span<const size_t> order) {
  const auto name = [&](int64_t label) { return classes[static_cast<size_t>(label)]; };
  std::vector<Report::ExampleRow> result;
  for (const size_t i : order) {
    const Answer& answer = evaluation.answers[i];
    const auto example = static_cast<int64_t>(i);
    Report::ExampleRow row{part.where(example),
                           evaluation.texts ? part.get(example).bytes.substr(0, 200) : "",
                           part.label(example),
                           "",
                           0.0,
                           answer.loss,
                           answer.length};
    if (evaluation.objective == Objective::classification) {
      row.predicted = name(answer.label());
      row.probability = static_cast<double>(answer.outputs[static_cast<size_t>(answer.label())]);
    } else {
      for (const float x : answer.outputs)
        row.predicted += (row.predicted.empty() ? "" : " ") + std::to_string(x);
    }
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace

int64_t Answer::label() const { return std::max_element(outputs.begin(), outputs.end()) - outputs.begin(); }

Evaluation evaluate(models::SequenceModel& model, const data::Part& part, const data::Encoder& encoder,
                    int documents, const EvaluationOptions& options) {
  const torch::NoGradGuard guard;
  const bool was_training = model.is_training();
  model.eval();
  const auto start = std::chrono::steady_clock::now();

  Evaluation result;
  const Signature& signature = encoder.signature();
  result.texts = std::holds_alternative<TextInput>(signature.input.input);
  result.objective = signature.classes.empty() ? Objective::regression : Objective::classification;
  std::vector<int64_t> lengths = lengths_of(part, encoder, documents);
  if (options.max_examples > 0 && options.max_examples < part.size())
    lengths.resize(static_cast<size_t>(options.max_examples));
  result.answers.resize(lengths.size());
  result.truth.assign(part.labels.begin(),
                      part.labels.begin() + (part.labels.empty() ? 0 : std::ssize(lengths)));
  const size_t outputs = part.outputs();
  result.targets.assign(part.targets.begin(),
                        part.targets.begin() + static_cast<long>(outputs * lengths.size()));

  int64_t done = 0;
  for (const auto& examples :
       data::plan_once(lengths, {options.batch_positions, BatchUnit::tokens, true, documents})) {
    const data::Batch batch = make_batch(part, encoder, examples, documents);
    Tensor said;
    try {
      said = model.predict(to_sequences(batch, options.device));
    } catch (const Error& error) {
      fail(part.where(examples.front()), examples.size() > 1 ? " and those that were read with it" : "", ": ",
           error.what());
    }
    if (result.objective == Objective::classification) said = torch::log_softmax(said, 1);
    said = said.to(torch::kCPU, torch::kFloat32).contiguous();
    const auto width = static_cast<size_t>(said.size(1));
    const float* row = said.data_ptr<float>();
    for (size_t i = 0; i < examples.size(); ++i, row += width) {
      const auto example = static_cast<size_t>(examples[i]);
      Answer& answer = result.answers[example];
      answer.length = lengths[example];
      answer.outputs.assign(row, row + width);
      if (result.objective == Objective::classification) {
        const std::vector<int64_t>& classes = batch.targets.classes;
        if (!classes.empty()) answer.loss = -static_cast<double>(row[classes[i]]);
        for (float& x : answer.outputs) x = std::exp(x);
      } else {
        to_target_units(answer.outputs, signature);
        for (size_t k = 0; k < width && outputs == width; ++k) {
          const double error = static_cast<double>(answer.outputs[k] - result.targets[example * width + k]);
          answer.loss += error * error / static_cast<double>(width);
        }
      }
    }
    result.positions += batch.positions;
    done += batch.size();
    if (options.progress) options.progress(done);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  model.train(was_training);
  return result;
}

Scores Evaluation::scores() const {
  Scores scores;
  if (answers.empty()) return scores;
  Mean loss;
  for (const Answer& answer : answers) loss.add(answer.loss);
  if (objective == Objective::classification) {
    Mean right;
    for (size_t i = 0; i < answers.size(); ++i) right.add(answers[i].label() == truth[i] ? 1.0 : 0.0);
    scores.metrics = {{"accuracy", right.value(), right.interval(), true},
                      {"loss", loss.value(), loss.interval(), false}};
    return scores;
  }
  Mean absolute;
  const size_t outputs = targets.size() / answers.size();
  std::vector<Mean> target(outputs);
  for (size_t i = 0; i < targets.size(); ++i) {
    absolute.add(std::abs(static_cast<double>(answers[i / outputs].outputs[i % outputs] - targets[i])));
    target[i % outputs].add(static_cast<double>(targets[i]));
  }
  double variance = 0.0;  // of each output about its own mean
  for (const Mean& one : target) variance += one.variance() / static_cast<double>(outputs);
  const double rmse = std::sqrt(loss.value());
  scores.higher_is_better = false;
  scores.metrics = {{"rmse", rmse, rmse > 0 ? loss.interval() / (2.0 * rmse) : 0.0, false},
                    {"mean error", absolute.value(), absolute.interval(), false},
                    {"explained", variance > 0 ? 1.0 - loss.value() / variance : 0.0, 0.0, true}};
  return scores;
}

std::vector<std::vector<int64_t>> Evaluation::confusion(int64_t classes) const {
  const auto n = static_cast<size_t>(classes);
  std::vector<std::vector<int64_t>> matrix(n, std::vector<int64_t>(n, 0));
  if (objective == Objective::classification)
    for (size_t i = 0; i < answers.size(); ++i)
      ++matrix[static_cast<size_t>(truth[i])][static_cast<size_t>(answers[i].label())];
  return matrix;
}

void describe(const Evaluation& evaluation, const data::Part& part, const std::vector<std::string>& classes,
              Report& report) {
  report.classes = classes;
  if (evaluation.objective == Objective::classification)
    report.confusion = evaluation.confusion(std::ssize(classes));
  std::vector<size_t> order(evaluation.answers.size());
  const size_t shown = std::min(kShown, order.size());
  const auto largest = [&](auto value) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::partial_sort(order.begin(), order.begin() + static_cast<long>(shown), order.end(),
                      [&](size_t a, size_t b) { return value(a) > value(b); });
    return rows(evaluation, part, classes, std::span(order).first(shown));
  };
  report.worst = largest([&](size_t i) { return evaluation.answers[i].loss; });
  report.longest = largest([&](size_t i) { return static_cast<double>(evaluation.answers[i].length); });
}

}  // namespace mega::train
