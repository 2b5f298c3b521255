#include "mega/train/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/folder_lock.h"
#include "mega/base/files/json.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/options/options_io.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/files/checkpoint_files.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/shared_sequences.h"
#include "mega/distributed/gather.h"
#include "mega/ops/precision.h"
#include "mega/ops/runtime.h"
#include "mega/report/table.h"
#include "mega/report/terminal.h"
#include "mega/train/checkpoint.h"
#include "mega/train/estimate.h"
#include "mega/train/saved_model.h"
#include "mega/train/tasks/job.h"

namespace mega::train {
namespace {

namespace fs = std::filesystem;

bool leads(const RunRequest& request) { return request.world == nullptr || request.world->leads(); }

// Lines of a run begin with what they are about, in a column of this width.
constexpr int64_t kTopicWidth = 12;

void say(const std::string& text) {
  if (is_quiet()) return;
  std::fprintf(stderr, "%s\n", for_terminal(printable(text), stderr, kTopicWidth).c_str());
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

void start_from(torch::nn::Module& model, const ModelOptions& options, const std::string& path) {
  const std::vector<std::string> fresh = load_matching_weights(model, ModelFile::open(path), options);
  require(fresh.size() < weights_of(model).size(), path,
          ": no weight of this model matches the name and shape of a tensor in the file");
  say("started from " + path + (fresh.empty() ? "" : "; newly initialised: " + join(fresh, ", ")));
}

// Going on from nothing would replace what the run has.
void require_usable_checkpoint(const fs::path& folder) {
  std::string damaged;
  if (newest_checkpoint(folder,
                        [&](const std::string& line) { damaged += (damaged.empty() ? ": " : "; ") + line; }))
    return;
  if (damaged.empty() && !fs::exists(folder / "model.safetensors")) return;  // nothing was saved yet
  fail(folder.string(), ": there is no checkpoint to resume from", damaged,
       ". Start over with --restart in place of --resume, which replaces this run, or train further from its "
       "model with --init in another folder");
}

// Bytes of all files in a folder.
double bytes_of(const fs::path& folder) {
  double bytes = 0.0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (entry->is_regular_file(ignored)) bytes += static_cast<double>(entry->file_size(ignored));
  return bytes;
}

void remove_run(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder / "checkpoints", error);
  std::vector<fs::path> files;
  for (const char* name : {"model.safetensors", "metrics.jsonl", "report.html", "result.json"})
    files.push_back(folder / name);
  // TensorBoard would show the curves of both runs.
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().native().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  for (const fs::path& file : files)
    if (!error) fs::remove(file, error);
  require(!error, folder.string(), ": cannot remove the old run: ", error.message());
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

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3gs", seconds);
  return text;
}

// The number of updates from train.epochs or train.time, which training corrects as it goes. The warm-up
// keeps its share, and there are about ten evaluations, unless the user set these.
void fit_updates(TrainOptions& options, const Task& task, const UpdateCost& update, const RunClock& clock,
                 const RunRequest& request) {
  // Of the time that is left after reading the data: some is for evaluations and the test.
  constexpr double kTrainingShare = 0.8;
  constexpr double kEvaluations = 16;  // about ten of them while it trains
  const auto is_set = [&](const char* key) {
    return std::find(request.set.begin(), request.set.end(), key) != request.set.end();
  };
  if (request.resume && !is_set("train.epochs") && !is_set("train.time")) return;
  double updates = static_cast<double>(options.updates);
  if (options.epochs > 0)
    updates = std::ceil(options.epochs * static_cast<double>(task.batches_per_epoch()) /
                        static_cast<double>(options.accumulation));
  if (!options.time.empty()) {
    const double seconds = parse_period(options.time).count;
    const double left = std::max(0.1 * seconds, seconds - clock.seconds());
    updates = kTrainingShare * left / update.seconds;
    if (!is_set("train.evaluate")) options.evaluate = seconds_text(left / kEvaluations);
    if (request.world != nullptr) {  // whose clocks differ
      updates = request.world->lead(updates);
      options.evaluate = request.world->lead(options.evaluate);
    }
  }
  const double factor = updates / static_cast<double>(std::max<int64_t>(1, options.updates));
  options.updates = std::max<int64_t>(1, static_cast<int64_t>(updates));
  if (!is_set("train.warmup"))
    options.warmup = static_cast<int64_t>(factor * static_cast<double>(options.warmup));
  if (!is_set("train.hold"))
    options.hold = std::max<int64_t>(1, static_cast<int64_t>(factor * static_cast<double>(options.hold)));
}

void announce(const Job& job, int64_t parameters) {
  say("data        " + job.describe());
  for (const std::string& suspicion : job.suspicions()) say("warning: " + suspicion);
  say("parameters  " + with_thousands(parameters));
}

// Of the largest batch, what one process reads: some examples, or pieces of whole units.
LargestBatch largest_share(const Job& job, const distributed::World* world) {
  LargestBatch largest = job.largest_batch();
  if (world == nullptr) return largest;
  const auto share = [&](int64_t count) { return (count + world->size() - 1) / world->size(); };
  const int64_t unit = piece_unit(job.recipe());
  if (unit == 0)
    largest.examples = share(largest.examples);
  else
    largest.length = std::min(largest.length, unit * share((largest.length + unit - 1) / unit));
  return largest;
}

// Measures an update, and sets the number of updates where epochs or a time decide it.
UpdateCost estimate(Job& job, Task& task, int64_t parameters, double available, const RunClock& clock,
                    const RunRequest& request) {
  TrainOptions& train = job.training();
  const UpdateCost update = measure_update(task, train, clock, request.world);
  fit_updates(train, task, update, clock, request);
  validate(job.recipe());
  if (!is_quiet()) configuration_table(job.recipe()).print(stderr);
  const double bytes = training_bytes(job.recipe(), parameters, largest_share(job, request.world));
  say("estimate    " + human_bytes(static_cast<uint64_t>(bytes)) + " beyond the data (" +
      human_bytes(static_cast<uint64_t>(std::max(0.0, available))) + " free), " +
      (train.time.empty() ? human_seconds(update.seconds * static_cast<double>(train.updates)) + " for " +
                                with_thousands(train.updates) + " updates of " +
                                human_seconds(update.seconds) + ", without evaluations"
                          : train.time + " in all, with about " + with_thousands(train.updates) +
                                " updates of " + human_seconds(update.seconds)));
  return update;
}

RunSettings settings_of(const Job& job, int64_t parameters, const RunRequest& request, double gflops) {
  const Recipe& recipe = job.recipe();
  RunSettings settings;
  settings.folder = request.folder;
  settings.resume = request.resume;
  settings.sgemm_gflops = gflops;
  settings.flops_per_position = 6.0 * recipe.model.kind().multiply_adds(job.largest_batch().length);
  Report& report = settings.report;
  report.title = fs::absolute(request.folder / "").parent_path().filename().string();
  report.description = recipe.description;
  report.command = request.command;
  report.started = now();
  report.summary = job.summary();
  report.summary.emplace_back("parameters", with_thousands(parameters));
  report.preset = request.preset;
  report.configuration = compare_settings(
      option_rows(recipe),
      request.preset.empty() ? std::vector<OptionRow>{} : option_rows(load_recipe(request.preset)));
  return settings;
}

void open_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, folder.string(), ": cannot create this folder: ", error.message());
}

Report::Comparison comparison_of(const std::string& kind, const Scores& model,
                                 const std::vector<BaselineScores>& baselines) {
  Report::Comparison comparison;
  comparison.metric = "test " + model.metrics.front().name;
  comparison.higher_is_better = model.higher_is_better;
  const auto add = [&](const std::string& name, const Metric& metric, bool own) {
    comparison.rows.push_back({name, metric_text(metric).substr(metric.name.size() + 1), metric.value, own});
  };
  add(kind, model.metrics.front(), true);
  for (const BaselineScores& one : baselines)
    if (!one.test.metrics.empty()) add(one.title, one.test.metrics.front(), false);
  return comparison;
}

// The test examples are used once, by the model chosen on the validation examples.
Scores test(const RunRequest& request, const Recipe& recipe, Task& task, Trainer& trainer,
            const RunResult& result) {
  if (leads(request)) {
    const ModelFile model = ModelFile::open(request.folder / "model.safetensors");
    load_weights(task.model(), model.tensors);
  }
  if (request.world != nullptr) distributed::broadcast_weights(*request.world, task.model());
  Report report;
  const Scores scores = task.test(report);
  if (scores.metrics.empty()) return scores;
  for (const Metric& metric : scores.metrics)
    report.summary.emplace_back("test " + metric.name, metric_text(metric).substr(metric.name.size() + 1));
  report.comparison = comparison_of(recipe.model.kind_name(), scores, result.baselines);
  trainer.write_report(&report);
  return scores;
}

nlohmann::ordered_json to_json(const std::vector<BaselineScores>& baselines) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const BaselineScores& one : baselines)
    json[one.name] = {{"valid", to_json(one.valid)}, {"test", to_json(one.test)}, {"seconds", one.seconds}};
  return json;
}

std::vector<BaselineScores> fit_baselines(const Job& job) {
  constexpr double kShare = 0.05, kLongest = 60.0;  // of a time budget; seconds
  const Period budget = parse_period(job.recipe().train.time);
  const double seconds = budget.count > 0 ? std::min(kLongest, kShare * budget.count) : kLongest;
  std::vector<BaselineScores> all = job.baselines(seconds);
  for (const BaselineScores& one : all) {
    const Scores& scores = one.valid.metrics.empty() ? one.test : one.valid;
    if (!scores.metrics.empty())
      say("baseline    " + one.title + ": " + (one.valid.metrics.empty() ? "test " : "valid ") +
          metric_text(scores.metrics.front()) + ", in " + human_seconds(one.seconds));
  }
  return all;
}

// Nobody should use a worse model unknowingly.
void compare(const Scores& model, const std::vector<BaselineScores>& baselines) {
  for (const BaselineScores& one : baselines)
    if (one.test.better_than(model))
      say("note: the baseline, " + one.title + ", is better, with " + metric_text(one.test.metrics.front()) +
          ": train longer, or use it (mega train text-linear)");
}

int64_t peak_memory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;  // which the system counts in KiB
}

void write_result(const fs::path& folder, const RunResult& result) {
  const TrainingState& state = result.outcome.state;
  nlohmann::ordered_json json = {{"parameters", result.parameters},
                                 {"precision", std::string(to_string(state.precision))},
                                 {"updates", state.update},
                                 {"seconds", state.seconds},
                                 {"peak_memory_bytes", peak_memory()},
                                 {"best_update", state.best_update}};
  const Scores& judged = state.best.metrics.empty() ? result.test : state.best;
  if (!judged.metrics.empty()) {
    json["selected_by"] = metric_key(judged.metrics.front().name);
    json["higher_is_better"] = judged.higher_is_better;
  }
  json["valid"] = to_json(state.best);
  json["test"] = to_json(result.test);
  json["baselines"] = to_json(result.baselines);
  write_file(folder / "result.json", json.dump(2) + "\n");
}

// Everything but where data and first weights lie, which may differ from machine to machine.
void require_same_recipe(distributed::World& world, Recipe recipe) {
  recipe.data.path.clear();
  recipe.train.init.clear();
  world.require_same(
      "the recipe", options_to_json(recipe).dump(), [](const std::string& first, const std::string& other) {
        const auto read = [](const std::string& text) {
          Recipe one;
          options_from_json(one, parse_json(text, "recipe"), {"recipe", {}, ""});
          return option_rows(one);
        };
        const auto a = read(first), b = read(other);
        for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
          if (a[i].key != b[i].key || a[i].value != b[i].value)
            return b[i].key + " = " + b[i].value + ", and " + a[i].key + " = " + a[i].value + " with rank 0";
        return std::string("they have other options");
      });
}

// Rank 0 reads the data first: what it keeps for later (vocabulary, tokens) the others on its machine find.
std::unique_ptr<Job> make_job_together(const Recipe& recipe, distributed::World* world) {
  if (world == nullptr) return make_job(recipe);
  std::unique_ptr<Job> job;
  if (world->leads()) job = make_job(recipe);
  world->lead(0);
  if (!world->leads()) job = make_job(recipe);
  world->require_same("the data", job->checksum());
  return job;
}

}  // namespace

bool holds_a_run(const fs::path& folder) { return fs::exists(folder / kRunRecipe); }

Recipe load_run_recipe(const fs::path& folder) {
  const std::string path = folder / kRunRecipe;
  require(holds_a_run(folder), folder.string(), ": not a run directory: it has no ", kRunRecipe);
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

namespace {

RunResult run_as_told(const RunRequest& request) {
  const RunClock clock(request.recipe.train.clock);
  distributed::World* world = request.world;
  const torch::Device device = parse_device(request.device);
  if (!device.is_cpu()) say("note: devices other than the CPU use the reference forms and are untested");
  require(device.is_cpu() || world == nullptr, "--device: several processes train on CPUs");
  validate(request.recipe);
  if (world != nullptr) require_same_recipe(*world, request.recipe);
  if (request.resume && leads(request)) require_usable_checkpoint(request.folder);
  const std::unique_ptr<Job> job = make_job_together(request.recipe, world);
  RunResult result;
  result.parameters = count_parameters(job->recipe().model).total;
  announce(*job, result.parameters);
  const double gflops = device.is_cpu() ? sgemm_gflops() : 0.0;
  say((world == nullptr ? "threads     " : "processes   " + std::to_string(world->size()) + ", threads ") +
      std::to_string(ops::threads()) + (world == nullptr ? "" : " each") + ", sgemm " +
      std::to_string(static_cast<int>(gflops)) + " GFLOP/s");
  const Precision precision = update_precision(job->recipe().train.precision, world);
  say("precision   " + std::string(to_string(precision)));
  const double available = available_memory();
  if (device.is_cpu())
    require_memory(job->recipe(), result.parameters, largest_share(*job, world), available);
  const std::unique_ptr<Task> task = job->make_task(device);
  if (world != nullptr) task->enter(*world);
  const UpdateCost update = [&] {
    const ops::PrecisionGuard guard(precision);
    return estimate(*job, *task, result.parameters, available, clock, request);
  }();
  if (request.estimate_only) return result;

  const Recipe& recipe = job->recipe();
  if (!recipe.train.init.empty() && leads(request))
    start_from(task->model(), recipe.model, recipe.train.init);
  if (world != nullptr) distributed::broadcast_weights(*world, task->model());
  open_folder(request.folder);
  std::optional<FolderLock> lock;  // the folders of the others are temporary, and locked as such
  if (leads(request)) lock.emplace(request.folder);
  if (request.resume && world != nullptr) share_checkpoint(*world, request.folder);
  if (request.resume) require_same_data(request.folder, job->checksum());
  // Before an old run is removed, it is known that there is room for the new one.
  if (leads(request))
    require_disk(request.folder, checkpoint_bytes(recipe, result.parameters),
                 request.restart ? bytes_of(request.folder / "checkpoints") : 0.0);
  if (request.restart) remove_run(request.folder);
  write_file(request.folder / kRunRecipe, options_to_json(recipe).dump(2) + "\n");

  if (recipe.train.baseline && leads(request)) result.baselines = fit_baselines(*job);
  RunSettings settings = settings_of(*job, result.parameters, request, gflops);
  settings.clock = clock;
  settings.update_cost = update;
  settings.world = world;
  Trainer trainer(*task, recipe.train, std::move(settings));
  result.outcome = trainer.run();
  if (result.outcome.signal != 0) return result;
  result.test = test(request, recipe, *task, trainer, result);
  compare(result.test, result.baselines);
  write_result(request.folder, result);
  return result;
}

}  // namespace

RunResult run(const RunRequest& request) {
  if (request.world == nullptr) return run_as_told(request);
  // The others have a folder of their own for what they need while the run lasts.
  RunRequest own = request;
  std::optional<TemporaryFolder> folder;
  if (!leads(request)) own.folder = folder.emplace().path();
  try {
    return run_as_told(own);
  } catch (const distributed::RunLost& lost) {
    const bool saved = leads(request) && newest_checkpoint(request.folder, [](const std::string&) {});
    if (!saved) throw;
    throw distributed::RunLost(std::string(lost.what()) +
                               ". The last checkpoint is intact: go on with --resume");
  } catch (const std::exception& error) {
    request.world->report_failure(error.what());
    throw;
  }
}

}  // namespace mega::train
