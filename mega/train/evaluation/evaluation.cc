#include "mega/train/evaluation/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/data/example_row.h"
#include "mega/infer/softmax.h"
#include "mega/train/evaluation/spread.h"

namespace mega::train {
namespace {

constexpr double k95 = 1.96;  // of a normal distribution lie within so many deviations
constexpr size_t kShown = 12;
constexpr int64_t kTop = 5;

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
  const bool pictures = std::holds_alternative<ImageInput>(evaluation.input.input);
  std::vector<Report::ExampleRow> result;
  for (const size_t i : order) {
    const Answer& answer = evaluation.answers[i];
    const int64_t example = evaluation.examples[i];
    Report::ExampleRow row;
    row.where = part.where(example);
    row.truth = part.label(example);
    row.loss = answer.loss;
    if (!pictures) row.length = answer.length;
    data::show_input(part.get(example), evaluation.input, row);
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

// The pictures of the classes that are most often taken for each other, of each pair the surest mistakes.
std::vector<Report::ConfusedClasses> confused_pictures(const Evaluation& evaluation, const data::Part& part,
                                                       const std::vector<std::string>& classes) {
  constexpr size_t kPairs = 8, kPictures = 8;
  const auto confusion = evaluation.confusion(std::ssize(classes));
  const std::vector<ClassMetrics> metrics = class_metrics(confusion);
  std::vector<Report::ConfusedClasses> result;
  for (const Confusion& pair : most_confused(confusion, kPairs)) {
    std::vector<size_t> mistakes;
    for (size_t i = 0; i < evaluation.answers.size(); ++i)
      if (evaluation.truth[i] == static_cast<int64_t>(pair.truth) &&
          evaluation.answers[i].label() == static_cast<int64_t>(pair.predicted))
        mistakes.push_back(i);
    std::stable_sort(mistakes.begin(), mistakes.end(), [&](size_t a, size_t b) {
      return evaluation.answers[a].loss > evaluation.answers[b].loss;
    });
    mistakes.resize(std::min(mistakes.size(), kPictures));
    result.push_back({classes[pair.truth], classes[pair.predicted], pair.count,
                      static_cast<double>(pair.count) / static_cast<double>(metrics[pair.truth].count),
                      rows(evaluation, part, classes, mistakes)});
  }
  return result;
}

// Every process gets what the others answered.
void share_answers(distributed::World& world, std::span<const size_t> own, Evaluation& evaluation) {
  std::string bytes;
  const auto put = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(evaluation.positions);
  for (const size_t at : own) {
    const Answer& answer = evaluation.answers[at];
    put(at), put(answer.loss), put(answer.length), put(answer.outputs.size());
    for (const float x : answer.outputs) put(x);
  }
  evaluation.positions = 0;
  for (const std::string& text : world.common().all_gather(bytes)) {
    const char* from = text.data();
    const auto take = [&](auto& value) {
      std::memcpy(&value, from, sizeof value);
      from += sizeof value;
    };
    int64_t positions = 0;
    take(positions);
    evaluation.positions += positions;
    while (from < text.data() + text.size()) {
      size_t at = 0, outputs = 0;
      take(at);
      Answer& answer = evaluation.answers.at(at);
      take(answer.loss), take(answer.length), take(outputs);
      answer.outputs.resize(outputs);
      for (float& x : answer.outputs) take(x);
    }
  }
}

// Predicted against true values, one chart for each output.
std::vector<ScatterChart> predictions_of(const Evaluation& evaluation) {
  std::vector<ScatterChart> charts;
  const size_t outputs =
      evaluation.answers.empty() ? 0 : evaluation.targets.size() / evaluation.answers.size();
  for (size_t k = 0; k < outputs; ++k) {
    std::vector<Point> points;
    for (size_t i = 0; i < evaluation.answers.size(); ++i)
      points.push_back({static_cast<double>(evaluation.targets[i * outputs + k]),
                        static_cast<double>(evaluation.answers[i].outputs[k])});
    charts.push_back({outputs == 1 ? "Predicted against true values" : "Output " + std::to_string(k + 1),
                      "true", "predicted", std::move(points)});
  }
  return charts;
}

}  // namespace

// Of equal ones the first counts as more probable, as label() has it.
int64_t Answer::rank(int64_t label) const {
  const auto own = outputs.begin() + label;
  return 1 + std::count_if(outputs.begin(), own, [&](float other) { return other >= *own; }) +
         std::count_if(own, outputs.end(), [&](float other) { return other > *own; });
}

int64_t Answer::label() const { return std::max_element(outputs.begin(), outputs.end()) - outputs.begin(); }

Evaluation evaluate(models::SequenceModel& model, const data::Part& part, const data::Encoder& encoder,
                    int documents, const EvaluationOptions& options) {
  TorchPredictor predictor(model, options.device);
  return evaluate(predictor, part, encoder, documents, options);
}

Evaluation evaluate(BatchPredictor& predictor, const data::Part& part, const data::Encoder& encoder,
                    int documents, const EvaluationOptions& options) {
  const auto start = std::chrono::steady_clock::now();

  Evaluation result;
  const Signature& signature = encoder.signature();
  result.input = signature.input;
  result.objective = signature.classes.empty() ? Objective::regression : Objective::classification;
  const std::vector<int64_t> all_lengths = lengths_of(part, encoder, documents);
  const bool limited = options.max_examples > 0 && options.max_examples < part.size();
  result.examples = spread(part.size(), limited ? options.max_examples : part.size());
  result.answers.resize(result.examples.size());
  const size_t outputs = part.outputs();
  std::vector<int64_t> lengths;
  for (const int64_t example : result.examples) {
    const auto i = static_cast<size_t>(example);
    lengths.push_back(all_lengths[i]);
    if (!part.labels.empty()) result.truth.push_back(part.labels[i]);
    for (size_t k = 0; k < outputs; ++k) result.targets.push_back(part.targets[i * outputs + k]);
  }

  int64_t done = 0, turn = 0;
  std::vector<size_t> own;  // examples that this process read
  const int64_t together =
      options.batch_positions > 0 ? options.batch_positions : predictor.positions_together();
  data::BatchContext context;
  context.threads = options.threads;
  for (const auto& chosen : data::plan_once(lengths, {together, BatchUnit::tokens, true, documents})) {
    if (options.world != nullptr && turn++ % options.world->size() != options.world->rank()) continue;
    std::vector<int64_t> examples;
    for (const int64_t i : chosen) examples.push_back(result.examples[static_cast<size_t>(i)]);
    const data::Batch batch = make_batch(part, encoder, examples, documents, context);
    std::vector<std::vector<float>> said = predictor.outputs(batch);
    for (size_t i = 0; i < examples.size(); ++i) {
      const auto at = static_cast<size_t>(chosen[i]);
      own.push_back(at);
      Answer& answer = result.answers[at];
      answer.length = lengths[at];
      if (result.objective == Objective::classification) {
        const std::vector<int64_t>& classes = batch.targets.classes;
        if (!classes.empty())
          answer.loss = infer::exact_exp_sum(said[i]).log() -
                        static_cast<double>(said[i][static_cast<size_t>(classes[i])]);
        answer.outputs = infer::softmax(said[i]);
      } else {
        answer.outputs = std::move(said[i]);
        to_target_units(answer.outputs, signature);
        const size_t width = answer.outputs.size();
        for (size_t k = 0; k < width && outputs == width; ++k) {
          const double error = static_cast<double>(answer.outputs[k] - result.targets[at * width + k]);
          answer.loss += error * error / static_cast<double>(width);
        }
      }
    }
    result.positions += batch.positions;
    done += batch.size();
    if (options.progress) options.progress(done);
  }
  if (options.world != nullptr) share_answers(*options.world, own, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
                      {"macro-F1", macro_f1(), 0.0, true}};
    if (std::holds_alternative<ImageInput>(input.input) && std::ssize(answers.front().outputs) > kTop) {
      Mean among_top;
      for (size_t i = 0; i < answers.size(); ++i)
        among_top.add(answers[i].rank(truth[i]) <= kTop ? 1.0 : 0.0);
      scores.metrics.push_back({"top-5", among_top.value(), among_top.interval(), true});
    }
    if (const auto area = area_under_curve()) scores.metrics.push_back({"AUC", *area, 0.0, false});
    scores.metrics.push_back({"loss", loss.value(), loss.interval(), false});
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
  scores.metrics = {{"RMSE", rmse, rmse > 0 ? loss.interval() / (2.0 * rmse) : 0.0, false},
                    {"MAE", absolute.value(), absolute.interval(), false},
                    {"R²", variance > 0 ? 1.0 - loss.value() / variance : 0.0, 0.0, false}};
  return scores;
}

double Evaluation::macro_f1() const {
  if (answers.empty()) return 0.0;
  Mean mean;
  for (const ClassMetrics& one : class_metrics(confusion(std::ssize(answers.front().outputs))))
    if (one.count > 0) mean.add(one.f1);
  return mean.value();
}

// The probability that an example of the second class gets a higher score than one of the first: by the sum
// of the ranks of the second class, where equal scores share their mean rank (Mann and Whitney).
std::optional<double> Evaluation::area_under_curve() const {
  if (answers.empty() || answers.front().outputs.size() != 2) return std::nullopt;
  std::vector<std::pair<float, bool>> scored;  // and whether it is of the second class
  for (size_t i = 0; i < answers.size(); ++i) scored.emplace_back(answers[i].outputs[1], truth[i] == 1);
  std::sort(scored.begin(), scored.end());
  double ranks = 0.0, positive = 0.0;
  for (size_t begin = 0, end = 0; begin < scored.size(); begin = end) {
    while (end < scored.size() && scored[end].first == scored[begin].first) ++end;
    const double rank = (static_cast<double>(begin + end) + 1.0) / 2.0;  // counted from 1
    for (size_t i = begin; i < end; ++i) {
      if (!scored[i].second) continue;
      ranks += rank;
      positive += 1.0;
    }
  }
  const double negative = static_cast<double>(scored.size()) - positive;
  if (positive == 0.0 || negative == 0.0) return std::nullopt;
  return (ranks - positive * (positive + 1.0) / 2.0) / (positive * negative);
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
  else
    report.predictions = predictions_of(evaluation);
  std::vector<size_t> order(evaluation.answers.size());
  const size_t shown = std::min(kShown, order.size());
  const auto largest = [&](auto value) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::partial_sort(order.begin(), order.begin() + static_cast<long>(shown), order.end(),
                      [&](size_t a, size_t b) { return value(a) > value(b); });
    return rows(evaluation, part, classes, std::span(order).first(shown));
  };
  report.worst = largest([&](size_t i) { return evaluation.answers[i].loss; });
  const bool pictures = std::holds_alternative<ImageInput>(evaluation.input.input);
  if (!pictures)
    report.longest = largest([&](size_t i) { return static_cast<double>(evaluation.answers[i].length); });
  else if (evaluation.objective == Objective::classification)
    report.confused = confused_pictures(evaluation, part, classes);
}

}  // namespace mega::train
