#include "mega/train/run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "mega/base/error.h"
#include "mega/base/file.h"
#include "mega/base/folder_lock.h"
#include "mega/base/json.h"
#include "mega/base/options_io.h"
#include "mega/base/table.h"
#include "mega/base/text.h"
#include "mega/models/model.h"
#include "mega/ops/runtime.h"
#include "mega/peers/factory.h"
#include "mega/train/checkpoint.h"
#include "mega/train/estimate.h"
#include "mega/train/saved_model.h"
#include "mega/train/sequence_task.h"

namespace mega::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecipe = "recipe.json";

void say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

std::string now() {
  char text[32];
  const std::time_t time = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", std::localtime(&time));
  return text;
}

std::string describe(const data::Dataset& dataset, const data::Encoder& encoder, int documents) {
  double positions = 0.0;
  int64_t longest = 0;
  for (const int64_t length : lengths_of(dataset.train, encoder, documents)) {
    positions += static_cast<double>(length);
    longest = std::max(longest, length);
  }
  std::string text =
      with_thousands(dataset.train.size()) + " train, " + with_thousands(dataset.valid.size()) + " valid, " +
      with_thousands(dataset.test.size()) + " test examples; lengths up to " + with_thousands(longest) +
      ", mean " + with_thousands(static_cast<int64_t>(positions / static_cast<double>(dataset.train.size())));
  if (!dataset.classes.empty()) text += "; " + std::to_string(dataset.classes.size()) + " classes";
  if (dataset.problems > 0)
    text += "; " + with_thousands(dataset.problems) +
            " left out (first: " + dataset.first_problems.front().where + ": " +
            dataset.first_problems.front().what + ")";
  return text;
}

// What the user chose or the recipe says; defaults are in recipe.json.
std::string configuration_table(const Recipe& recipe) {
  Table table({"option", "value"});
  for (const OptionRow& row : option_rows(recipe))
    if (row.value != row.default_value) table.add({row.key, row.value});
  return table.plain();
}

void start_from(models::SequenceModel& model, const std::string& path) {
  const std::vector<std::string> fresh = load_matching_weights(model, ModelFile::open(path).tensors);
  require(fresh.size() < weights_of(model).size(), path,
          ": no weight of this model has the name and shape of one there");
  say("started from " + path + (fresh.empty() ? "" : "; initialised anew: " + join(fresh, ", ")));
}

// A run goes on with the examples it began with: others would make it neither the old run nor a new one.
void require_same_data(const fs::path& folder, const data::Dataset& dataset) {
  const auto checkpoint = newest_checkpoint(folder, [](const std::string&) {});
  if (!checkpoint) return;
  const auto before = checkpoint->model.metadata().find(kDataChecksum);
  if (before == checkpoint->model.metadata().end() || before->second == dataset.checksum) return;
  fail(folder.string(), ": the examples are not those the run began with (checksum ", dataset.checksum,
       ", then ", before->second, "); start a new run, with --init ", (folder / "model.safetensors").string(),
       " if it shall go on from this one");
}

// As many updates as fit into the time; the warm-up keeps its share.
void fit_updates(TrainOptions& options, double seconds, double seconds_per_update) {
  const double warmup =
      options.updates > 0 ? static_cast<double>(options.warmup) / static_cast<double>(options.updates) : 0.0;
  options.updates = std::max<int64_t>(1, static_cast<int64_t>(seconds / seconds_per_update));
  options.warmup = static_cast<int64_t>(warmup * static_cast<double>(options.updates));
}

nlohmann::ordered_json to_json(const Scores& scores) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Figure& figure : scores.figures) {
    json[figure.name] = figure.value;
    if (figure.uncertainty > 0) json[figure.name + " ±"] = figure.uncertainty;
  }
  return json;
}

}  // namespace

bool holds_a_run(const fs::path& folder) { return fs::exists(folder / kRecipe); }

Recipe load_run_recipe(const fs::path& folder) {
  const std::string path = folder / kRecipe;
  require(holds_a_run(folder), folder.string(), ": no run was begun here: it has no ", kRecipe);
  Recipe recipe;
  options_from_json(recipe, parse_json(read_file(path), path), {path, {}, ""});
  validate(recipe);
  return recipe;
}

torch::Device parse_device(const std::string& name) {
  try {
    const torch::Device device(name);
    require(!device.is_cuda() || torch::cuda::is_available(), "--device ", name,
            ": this libtorch has no CUDA, or no card is there");
    return device;
  } catch (const c10::Error&) {
    fail("--device: expected cpu, cuda or cuda:N, got ", in_quotes(name));
  }
}

RunResult run(const RunRequest& request) {
  Recipe recipe = request.recipe;
  validate(recipe);
  const torch::Device device = parse_device(request.device);
  if (!device.is_cpu()) say("note: devices other than the CPU run the reference forms, and are untested");

  const data::Dataset dataset = load_dataset(dataset_request(recipe));
  require(dataset.train.size() > 0, recipe.data.path, ": no training examples");
  fit_recipe(recipe, dataset);
  validate(recipe);
  const Signature signature = make_signature(recipe, dataset);
  const data::Encoder encoder(signature, cls_token(recipe.model));
  const int documents = static_cast<int>(peers::documents(recipe.model));
  const LargestBatch largest = largest_batch(dataset.train, encoder, recipe);

  RunResult result;
  result.parameters = models::count_parameters(*peers::make_sequence_model(recipe.model)).total;
  const double available = available_memory();
  if (device.is_cpu()) require_memory(recipe, result.parameters, largest, available);
  const double seconds_per_update = measure_update(recipe, dataset, signature, device);
  if (request.seconds > 0 && !request.resume) {
    fit_updates(recipe.train, request.seconds, seconds_per_update);
    validate(recipe);
  }
  const double gflops = device.is_cpu() ? sgemm_gflops() : 0.0;

  std::fputs(configuration_table(recipe).c_str(), stderr);
  say("data        " + describe(dataset, encoder, documents));
  say("parameters  " + with_thousands(result.parameters));
  say("threads     " + std::to_string(ops::threads()) + ", sgemm " +
      std::to_string(static_cast<int>(gflops)) + " GFLOP/s");
  say("estimate    " +
      human_bytes(static_cast<uint64_t>(training_bytes(recipe, result.parameters, largest))) +
      " beyond the data (" + human_bytes(static_cast<uint64_t>(std::max(0.0, available))) + " free), " +
      human_seconds(seconds_per_update * static_cast<double>(recipe.train.updates)) + " for " +
      with_thousands(recipe.train.updates) + " updates of " + human_seconds(seconds_per_update) +
      ", evaluations apart");
  if (request.estimate_only) return result;

  SequenceTask task(recipe, dataset, signature, device);
  if (!recipe.train.init.empty()) start_from(task.sequence_model(), recipe.train.init);
  std::error_code error;
  fs::create_directories(request.folder, error);
  require(!error, request.folder.string(), ": cannot make this folder: ", error.message());
  const FolderLock lock(request.folder);
  write_file(request.folder / kRecipe, options_to_json(recipe).dump(2) + "\n");

  RunSettings settings{request.folder, request.resume, 0.0, gflops, {}};
  const int64_t mean_length = std::max<int64_t>(1, largest.length);
  settings.flops_per_position = 6.0 * peers::multiply_adds(recipe.model, mean_length);
  settings.report.title =
      recipe.description.empty() ? request.folder.filename().string() : recipe.description;
  settings.report.command = request.command;
  settings.report.started = now();
  settings.report.summary = {{"parameters", with_thousands(result.parameters)},
                             {"training examples", with_thousands(dataset.train.size())},
                             {"longest", with_thousands(largest.length)}};
  for (const OptionRow& row : option_rows(recipe))
    settings.report.configuration.emplace_back(row.key, row.value);
  if (request.resume) require_same_data(request.folder, dataset);
  Trainer trainer(task, recipe.train, settings);
  result.outcome = trainer.run();
  if (result.outcome.signal != 0) return result;

  // The test examples are seen once, by the model that was chosen without them.
  nlohmann::ordered_json summary = {{"parameters", result.parameters},
                                    {"updates", result.outcome.progression.update},
                                    {"seconds", result.outcome.progression.seconds},
                                    {"best update", result.outcome.progression.best_update},
                                    {"valid", to_json(result.outcome.progression.best)}};
  if (dataset.test.size() > 0) {
    load_weights(task.model(), ModelFile::open(request.folder / "model.safetensors").tensors);
    EvaluationOptions options;
    options.device = device;
    const Evaluation evaluation =
        evaluate(task.sequence_model(), dataset.test, task.encoder(), documents, options);
    result.test = evaluation.scores();
    summary["test"] = to_json(result.test);
    Report extra;
    for (const Figure& figure : result.test.figures)
      extra.summary.emplace_back("test " + figure.name, figure_text(figure).substr(figure.name.size() + 1));
    describe(evaluation, dataset.test, dataset.classes, extra);
    trainer.write_report(&extra);
  }
  write_file(request.folder / "result.json", summary.dump(2) + "\n");
  return result;
}

}  // namespace mega::train
