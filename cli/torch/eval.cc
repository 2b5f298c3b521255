#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands/evaluation_data.h"
#include "cli/model_argument.h"
#include "cli/torch/eval_language.h"
#include "cli/torch/eval_translation.h"
#include "cli/torch/torch_commands.h"
#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/files/model_file.h"
#include "mega/data/summary.h"
#include "mega/infer/models/open_model.h"
#include "mega/ops/runtime.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"
#include "mega/train/evaluation/predictions_file.h"
#include "mega/train/run.h"
#include "mega/train/saved_model.h"
#include "mega/train/tasks/sequence_task.h"

namespace mega::cli {
namespace {

// The engine runs what it can; libtorch the baselines, and other devices than this machine's processor.
class Classifier {
 public:
  Classifier(const std::filesystem::path& path, ModelFile file, std::optional<PictureSize> size,
             torch::Device device, int threads) {
    if (file.options.kind().runs_in_engine() && device.is_cpu()) {
      engine_ = infer::open_model(std::move(file), path.string(), size);
      predictor_ = std::make_unique<train::EnginePredictor>(*engine_, pool_.emplace(threads));
    } else {
      modules_ = train::load_model(path, size).model;
      modules_->to(device);
      predictor_ = std::make_unique<train::TorchPredictor>(*modules_, device);
    }
  }

  train::BatchPredictor& predictor() const { return *predictor_; }

 private:
  std::optional<infer::ThreadPool> pool_;
  std::shared_ptr<const infer::SequenceModel> engine_;
  std::shared_ptr<models::SequenceModel> modules_;
  std::unique_ptr<train::BatchPredictor> predictor_;
};

struct Evaluate : EvalCommand {
  void run();
  void run_classifier();
};

data::Split parse_split(const std::string& name) {
  for (const data::Split split : {data::Split::train, data::Split::valid, data::Split::test})
    if (name == data::split_name(split)) return split;
  fail("--split: expected train, valid or test, got ", in_quotes(name));
}

std::string per_cent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
  return text;
}

Table class_table(const std::vector<std::string>& classes, const std::vector<ClassMetrics>& metrics) {
  Table table({"class", "examples", "precision", "recall", "F1"});
  for (size_t i = 0; i < classes.size(); ++i)
    table.add({classes[i], with_thousands(metrics[i].count), per_cent(metrics[i].precision),
               per_cent(metrics[i].recall), per_cent(metrics[i].f1)});
  return table;
}

Table confusion_table(const std::vector<std::string>& classes, const std::vector<ClassMetrics>& metrics,
                      const std::vector<Confusion>& confusions) {
  Table table({"class", "taken for", "examples", "of the class"});
  for (const Confusion& one : confusions)
    table.add({classes[one.truth], classes[one.predicted], with_thousands(one.count),
               per_cent(static_cast<double>(one.count) / static_cast<double>(metrics[one.truth].count))});
  return table;
}

void Evaluate::run() {
  ops::set_threads(threads);
  const ModelTask task = ModelFile::open(model_path(model)).options.kind().task();
  require(task == ModelTask::language || reading.is_default(), model,
          " is no language model; --chunk, --context, --segments, --sweep and --out are for language models");
  const bool classifier = task == ModelTask::sequence || task == ModelTask::image;
  require(classifier || predictions.empty(),
          "--predictions is for classifiers; `mega score --tokens` shows each token of a text");
  if (classifier) return run_classifier();
  if (task == ModelTask::translation)
    return evaluate_translator(
        {model, path, parse_split(split), changes, examples, train::parse_device(device), json});
  require(examples == 0,
          "--examples is for classifiers; for language models, --set data.evaluation_limit=N limits the "
          "number of tokens");
  evaluate_language_model(
      {model, path, parse_split(split), changes, reading, train::parse_device(device), json});
}

void Evaluate::run_classifier() {
  const std::filesystem::path where = model_path(model);
  ModelFile file = ModelFile::open(where);
  Signature signature = read_signature(file.tensors, where.string());
  Recipe recipe;
  recipe.model = file.options;
  recipe.input = signature.input;
  recipe.data = evaluation_data(signature.data, path);
  for (const std::string& assignment : changes) change(recipe, assignment);
  // Pictures may be read in another size than in training, or cropped otherwise.
  std::optional<PictureSize> size;
  if (const auto* image = std::get_if<ImageInput>(&recipe.input.input);
      image != nullptr && image_options(recipe.model) != nullptr) {
    size = PictureSize{image->height, image->width};
    signature.input = recipe.input;
  }
  const Classifier classifier(where, std::move(file), size, train::parse_device(device), threads);

  const data::Dataset dataset = load_dataset(data::dataset_request(recipe, signature.classes));
  data::Part part = dataset.part(parse_split(split));
  require(part.size() > 0, recipe.data.path, ": no ", split, " examples; choose another split with --split");
  const int documents = static_cast<int>(recipe.model.kind().document_count());
  const data::Encoder encoder(signature, cls_token(recipe.model));
  measure(part, encoder, documents);
  train::EvaluationOptions options;
  options.max_examples = examples;
  options.threads = recipe.data.threads;
  train::Evaluation evaluation;
  {
    Progress progress("evaluating", examples > 0 ? std::min(examples, part.size()) : part.size(), "examples");
    options.progress = [&](int64_t done) { progress.update(done); };
    evaluation = train::evaluate(classifier.predictor(), part, encoder, documents, options);
  }
  if (!predictions.empty()) train::write_predictions(predictions, evaluation, part, dataset.classes);
  const int64_t cut = data::count_cut(part, encoder, documents);
  const train::Scores scores = evaluation.scores();
  const auto confusion = evaluation.confusion(std::ssize(dataset.classes));
  const std::vector<ClassMetrics> metrics = class_metrics(confusion);
  constexpr size_t kMostConfusions = 10;
  const std::vector<Confusion> confusions = most_confused(confusion, kMostConfusions);
  const double count = static_cast<double>(evaluation.answers.size());
  if (json) {
    nlohmann::ordered_json report = {
        {"model", model}, {"split", split}, {"examples", evaluation.answers.size()}};
    report.update(train::to_json(scores));
    for (size_t i = 0; i < metrics.size(); ++i)
      report["classes"][dataset.classes[i]] = {{"examples", metrics[i].count},
                                               {"precision", metrics[i].precision},
                                               {"recall", metrics[i].recall},
                                               {"f1", metrics[i].f1}};
    for (const Confusion& one : confusions)
      report["confusions"].push_back({{"class", dataset.classes[one.truth]},
                                      {"taken_for", dataset.classes[one.predicted]},
                                      {"examples", one.count}});
    report["seconds"] = evaluation.seconds;
    report["tokens_per_second"] = static_cast<double>(evaluation.positions) / evaluation.seconds;
    report["cut"] = cut;
    report["left_out"] = dataset.problems;
    std::printf("%s\n", json_text(report, 2).c_str());
    return;
  }
  if (!metrics.empty()) class_table(dataset.classes, metrics).print(stdout);
  // Of two classes, precision and recall say it all.
  if (metrics.size() > 2 && !confusions.empty())
    confusion_table(dataset.classes, metrics, confusions).print(stdout);
  for (const train::Metric& metric : scores.metrics) std::printf("%s\n", train::metric_text(metric).c_str());
  std::printf(
      "%s %s examples in %s: %.1f examples/s, %s tokens/s\n",
      with_thousands(std::ssize(evaluation.answers)).c_str(), split.c_str(),
      human_seconds(evaluation.seconds).c_str(), count / evaluation.seconds,
      with_thousands(static_cast<int64_t>(static_cast<double>(evaluation.positions) / evaluation.seconds))
          .c_str());
  if (cut > 0)
    std::printf(
        "%s of the %s examples are longer than what the model reads, and were cut to their beginning\n",
        with_thousands(cut).c_str(), split.c_str());
  if (dataset.problems > 0) std::printf("%s examples skipped\n", with_thousands(dataset.problems).c_str());
}

}  // namespace

void run_eval(const EvalCommand& command) { Evaluate{command}.run(); }

}  // namespace mega::cli
