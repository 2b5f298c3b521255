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
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/ops/runtime.h"
#include "mega/report/table.h"
#include "mega/report/terminal.h"
#include "mega/train/checkpoint.h"
#include "mega/train/estimate.h"
#include "mega/train/job.h"
#include "mega/train/saved_model.h"

namespace mega::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecipe = "recipe.json";

// Lines of a run begin with what they are about, in a column of this width.
constexpr int64_t kTopicWidth = 12;

void say(const std::string& text) {
  std::fprintf(stderr, "%s\n", for_terminal(text, stderr, kTopicWidth).c_str());
}

std::string now() {
  char text[32];
  const std::time_t time = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", std::localtime(&time));
  return text;
}

// The options that differ from their defaults; recipe.json has all of them.
Table configuration_table(const Recipe& recipe) {
  Table table({"option", "value"});
  for (const OptionRow& row : option_rows(recipe))
    if (row.value != row.default_value) table.add({row.key, row.value});
  return table;
}

void start_from(torch::nn::Module& model, const std::string& path) {
  const std::vector<std::string> fresh = load_matching_weights(model, ModelFile::open(path).tensors);
  require(fresh.size() < weights_of(model).size(), path,
          ": no weight of this model matches the name and shape of a tensor in the file");
  say("started from " + path + (fresh.empty() ? "" : "; newly initialised: " + join(fresh, ", ")));
}

// A resumed run must use the same examples.
void require_same_data(const fs::path& folder, const std::string& checksum) {
  const auto checkpoint = newest_checkpoint(folder, [](const std::string&) {});
  if (!checkpoint) return;
  const auto before = checkpoint->model.metadata().find(kDataChecksum);
  if (before == checkpoint->model.metadata().end() || before->second == checksum) return;
  const auto way = [](const std::string& sum) {
    return sum.substr(0, sum.find('-') + 1);
  };  // "h1-" or nothing
  if (way(before->second) != way(checksum))
    return say(
        "note: the run began with an older version, whose checksum of the data cannot be compared; "
        "going on as if the data were the same");
  fail(folder.string(), ": the examples have changed since the run started (checksum ", checksum, ", then ",
       before->second, "); start a new run, with --init ", (folder / "model.safetensors").string(),
       " to continue from this model");
}

// Sets the number of updates that fit into the time; the warm-up keeps its share.
void fit_updates(TrainOptions& options, double seconds, double seconds_per_update) {
  const double warmup =
      options.updates > 0 ? static_cast<double>(options.warmup) / static_cast<double>(options.updates) : 0.0;
  options.updates = std::max<int64_t>(1, static_cast<int64_t>(seconds / seconds_per_update));
  options.warmup = static_cast<int64_t>(warmup * static_cast<double>(options.updates));
}

nlohmann::ordered_json to_json(const Scores& scores) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Metric& metric : scores.metrics) {
    json[metric.name] = metric.value;
    if (metric.uncertainty > 0) json[metric.name + " ±"] = metric.uncertainty;
  }
  return json;
}

void announce(const Job& job, int64_t parameters) {
  configuration_table(job.recipe()).print(stderr);
  say("data        " + job.describe());
  say("parameters  " + with_thousands(parameters));
}

// Measures an update, and sets the number of updates if a time is given.
void estimate(Job& job, Task& task, int64_t parameters, double available, const RunRequest& request) {
  TrainOptions& train = job.training();
  const double seconds = measure_update(task, train);
  if (request.seconds > 0 && !request.resume) fit_updates(train, request.seconds, seconds);
  validate(job.recipe());
  const double bytes = training_bytes(job.recipe(), parameters, job.largest_batch());
  say("estimate    " + human_bytes(static_cast<uint64_t>(bytes)) + " beyond the data (" +
      human_bytes(static_cast<uint64_t>(std::max(0.0, available))) + " free), " +
      human_seconds(seconds * static_cast<double>(train.updates)) + " for " + with_thousands(train.updates) +
      " updates of " + human_seconds(seconds) + ", without evaluations");
}

RunSettings settings_of(const Job& job, int64_t parameters, const RunRequest& request, double gflops) {
  const Recipe& recipe = job.recipe();
  RunSettings settings;
  settings.folder = request.folder;
  settings.resume = request.resume;
  settings.sgemm_gflops = gflops;
  settings.flops_per_position = 6.0 * recipe.model.kind().multiply_adds(job.largest_batch().length);
  Report& report = settings.report;
  report.title = recipe.description.empty() ? request.folder.filename().string() : recipe.description;
  report.command = request.command;
  report.started = now();
  report.summary = job.summary();
  report.summary.emplace_back("parameters", with_thousands(parameters));
  for (const OptionRow& row : option_rows(recipe)) report.configuration.emplace_back(row.key, row.value);
  return settings;
}

void open_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, folder.string(), ": cannot create this folder: ", error.message());
}

// The test examples are used once, by the model chosen on the validation examples.
Scores test(const fs::path& folder, Task& task, Trainer& trainer) {
  load_weights(task.model(), ModelFile::open(folder / "model.safetensors").tensors);
  Report report;
  const Scores scores = task.test(report);
  if (scores.metrics.empty()) return scores;
  for (const Metric& metric : scores.metrics)
    report.summary.emplace_back("test " + metric.name, metric_text(metric).substr(metric.name.size() + 1));
  trainer.write_report(&report);
  return scores;
}

void write_result(const fs::path& folder, const RunResult& result) {
  const TrainingState& state = result.outcome.state;
  const nlohmann::ordered_json json = {{"parameters", result.parameters}, {"updates", state.update},
                                       {"seconds", state.seconds},        {"best update", state.best_update},
                                       {"valid", to_json(state.best)},    {"test", to_json(result.test)}};
  write_file(folder / "result.json", json.dump(2) + "\n");
}

}  // namespace

bool holds_a_run(const fs::path& folder) { return fs::exists(folder / kRecipe); }

Recipe load_run_recipe(const fs::path& folder) {
  const std::string path = folder / kRecipe;
  require(holds_a_run(folder), folder.string(), ": not a run directory: it has no ", kRecipe);
  Recipe recipe;
  options_from_json(recipe, parse_json(read_file(path), path), {path, {}, ""});
  validate(recipe);
  return recipe;
}

torch::Device parse_device(const std::string& name) {
  try {
    const torch::Device device(name);
    require(!device.is_cuda() || torch::cuda::is_available(), "--device ", name,
            ": this libtorch has no CUDA support, or there is no GPU");
    return device;
  } catch (const c10::Error&) {
    fail("--device: expected cpu, cuda or cuda:N, got ", in_quotes(name));
  }
}

RunResult run(const RunRequest& request) {
  const torch::Device device = parse_device(request.device);
  if (!device.is_cpu()) say("note: devices other than the CPU use the reference forms and are untested");
  validate(request.recipe);
  const std::unique_ptr<Job> job = make_job(request.recipe);
  RunResult result;
  result.parameters = count_parameters(job->recipe().model).total;
  announce(*job, result.parameters);
  const double gflops = device.is_cpu() ? sgemm_gflops() : 0.0;
  say("threads     " + std::to_string(ops::threads()) + ", sgemm " +
      std::to_string(static_cast<int>(gflops)) + " GFLOP/s");
  const double available = available_memory();
  if (device.is_cpu()) require_memory(job->recipe(), result.parameters, job->largest_batch(), available);
  const std::unique_ptr<Task> task = job->make_task(device);
  estimate(*job, *task, result.parameters, available, request);
  if (request.estimate_only) return result;

  const Recipe& recipe = job->recipe();
  if (!recipe.train.init.empty()) start_from(task->model(), recipe.train.init);
  open_folder(request.folder);
  const FolderLock lock(request.folder);
  if (request.resume) require_same_data(request.folder, job->checksum());
  write_file(request.folder / kRecipe, options_to_json(recipe).dump(2) + "\n");

  Trainer trainer(*task, recipe.train, settings_of(*job, result.parameters, request, gflops));
  result.outcome = trainer.run();
  if (result.outcome.signal != 0) return result;
  result.test = test(request.folder, *task, trainer);
  write_result(request.folder, result);
  return result;
}

}  // namespace mega::train
