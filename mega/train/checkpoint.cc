#include "mega/train/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/config/files/checkpoint_files.h"
#include "mega/config/files/model_file.h"

namespace mega::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOldChecksum = "checksum";  // of version 0.1

fs::path folder_of(const fs::path& run) { return run / kCheckpoints; }

// Finished checkpoints, the newest first. Those still being written have a dot before their name.
std::vector<fs::path> finished(const fs::path& run) {
  std::vector<fs::path> folders;
  if (!fs::is_directory(folder_of(run))) return folders;
  for (const auto& entry : fs::directory_iterator(folder_of(run)))
    if (entry.is_directory() &&
        entry.path().filename().string().find_first_not_of("0123456789") == std::string::npos)
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename(), y = b.filename();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  return folders;
}

// The same as version 0.1 computed it, whose checkpoints are still read. `tensors` are those of both files.
std::string checksum_of_version_0_1(const std::string& state, const std::vector<TensorView>& tensors) {
  uint64_t sum = stream_seed(0, state);
  for (const TensorView& tensor : tensors) {
    uint64_t hash = stream_seed(0, tensor.name);
    size_t i = 0;
    for (; i + sizeof hash <= tensor.data.size(); i += sizeof hash) {
      uint64_t word = 0;
      std::memcpy(&word, tensor.data.data() + i, sizeof word);
      hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32;
    }
    for (; i < tensor.data.size(); ++i) hash = mix_bits(hash ^ static_cast<uint64_t>(tensor.data[i]));
    sum += mix_bits(hash);
  }
  return std::to_string(sum);
}

std::string to_text(const TrainingState& p) {
  nlohmann::ordered_json best = nlohmann::ordered_json::array();
  for (const Metric& metric : p.best.metrics)
    best.push_back({metric.name, metric.value, metric.uncertainty, metric.share});
  return nlohmann::ordered_json{{"update", p.update},
                                {"epoch", p.cursor.epoch},
                                {"batch", p.cursor.batch},
                                {"seconds", p.seconds},
                                {"waiting_seconds", p.waiting_seconds},
                                {"best", best},
                                {"higher_is_better", p.best.higher_is_better},
                                {"best_update", p.best_update},
                                {"evaluations_since_best", p.evaluations_since_best},
                                {"evaluated_update", p.evaluated_update},
                                {"evaluation_due", p.evaluation_due},
                                {"threads", p.threads},
                                {"precision", std::string(to_string(p.precision))},
                                {"wall_seconds", p.wall_seconds},
                                {"planned", p.planned},
                                {"budget_seconds", p.budget_seconds}}
      .dump();
}

// JSON has no word for a number that is not finite: null.
double number(const nlohmann::json& json) { return json.is_null() ? std::nan("") : json.get<double>(); }

TrainingState from_text(const std::string& text, const std::string& where) {
  try {
    const nlohmann::json json = parse_json(text, where);
    TrainingState p;
    p.update = json.at("update");
    p.cursor = {json.at("epoch"), json.at("batch")};
    if (!json.contains("seconds")) return p;  // imported from another program
    p.seconds = json.at("seconds");
    for (const auto& metric : json.at("best"))
      p.best.metrics.push_back({metric.at(0), number(metric.at(1)), number(metric.at(2)), metric.at(3)});
    p.best.higher_is_better = json.at("higher_is_better");
    p.best_update = json.at("best_update");
    p.evaluations_since_best = json.at("evaluations_since_best");
    p.evaluated_update = json.at("evaluated_update");
    p.evaluation_due = json.at("evaluation_due");
    p.threads = json.at("threads");
    if (json.contains("precision"))  // this and the next are not in version 0.1
      p.precision = parse_enum<Precision>(json.at("precision").get<std::string>());
    p.waiting_seconds = json.value("waiting_seconds", 0.0);
    p.wall_seconds = json.value("wall_seconds", 0.0);
    p.planned = json.value("planned", int64_t{0});
    p.budget_seconds = json.value("budget_seconds", 0.0);
    return p;
  } catch (const nlohmann::json::exception& error) {
    fail(where, ": ", error.what());
  }
}

// Whether both files have what was written.
bool is_whole(const Checkpoint& checkpoint, const std::string& state, const fs::path& folder) {
  const Metadata& metadata = checkpoint.training.metadata();
  const std::vector<TensorView>& model = checkpoint.model.tensors();
  const std::vector<TensorView>& training = checkpoint.training.tensors();
  if (const auto expected = metadata.find(kTrainingHash); expected != metadata.end())
    return expected->second == checkpoint_hash(state, model, training);
  const auto expected = metadata.find(kOldChecksum);
  require(expected != metadata.end(), folder.string(), ": ", kCheckpointTraining,
          " is not part of a checkpoint");
  std::vector<TensorView> all = model;
  all.insert(all.end(), training.begin(), training.end());
  return expected->second == checksum_of_version_0_1(state, all);
}

Checkpoint open_checkpoint(const fs::path& folder) {
  const ModelFile model = ModelFile::open(folder / kCheckpointModel);
  Checkpoint checkpoint{{}, model.tensors, Safetensors::open(folder / kCheckpointTraining)};
  const Metadata& metadata = checkpoint.training.metadata();
  const auto state = metadata.find(kTrainingState);
  require(state != metadata.end(), folder.string(), ": ", kCheckpointTraining,
          " is not part of a checkpoint");
  require(is_whole(checkpoint, state->second, folder), folder.string(),
          ": the checksum does not match: the checkpoint is damaged");
  checkpoint.state = from_text(state->second, folder / kCheckpointTraining);
  return checkpoint;
}

// Renamed first: a run that is killed meanwhile leaves no half of a checkpoint under its name.
void remove_checkpoint(const fs::path& folder, std::error_code& error) {
  const fs::path hidden = folder.parent_path() / ("." + folder.filename().string() + ".old");
  fs::remove_all(hidden, error);
  if (!error) fs::rename(folder, hidden, error);
  if (!error) fs::remove_all(hidden, error);
}

}  // namespace

void save_checkpoint(const fs::path& run, const TrainingState& state,
                     const std::function<void(const fs::path&)>& save_model,
                     const ops::NamedTensors& training, int64_t keep) {
  const fs::path folder = folder_of(run), name = checkpoint_name(state.update);
  const fs::path aside = folder / ("." + name.string() + "." + std::to_string(getpid()));
  try {
    fs::create_directories(aside);
    save_model(aside / kCheckpointModel);
    const Safetensors model = Safetensors::open(aside / kCheckpointModel);
    const ops::TensorViews views(training);
    const std::string text = to_text(state);
    write_training_file(aside / kCheckpointTraining, text, model.tensors(), views.views());
    sync_folder(aside);
    // A run that was resumed from an older checkpoint comes by again.
    std::error_code error;
    if (fs::exists(folder / name)) remove_checkpoint(folder / name, error);
    if (error) throw fs::filesystem_error("cannot replace a checkpoint", folder / name, error);
    fs::rename(aside, folder / name);
    sync_folder(folder);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    fail("cannot save a checkpoint: ", error.what());
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    throw;
  }

  std::error_code ignored;
  const std::vector<fs::path> all = finished(run);
  const auto own = std::find(all.begin(), all.end(), folder / name);
  for (auto it = all.begin(); it != all.end(); ++it)
    if (it < own || it - own >= keep) remove_checkpoint(*it, ignored);
  // What a killed run left behind.
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(".")) fs::remove_all(entry.path(), ignored);
}

std::optional<Checkpoint> newest_checkpoint(const fs::path& run,
                                            const std::function<void(const std::string&)>& say) {
  for (const fs::path& folder : finished(run)) {
    try {
      return open_checkpoint(folder);
    } catch (const std::exception& error) {
      say(std::string("skipped a checkpoint that cannot be used: ") + error.what());
    }
  }
  return std::nullopt;
}

void share_checkpoint(distributed::World& world, const fs::path& run) {
  std::string name;
  if (world.leads())
    for (const fs::path& folder : finished(run)) {
      try {
        open_checkpoint(folder);
        name = folder.filename();
        break;
      } catch (const std::exception&) {
        continue;  // restoring says what is wrong with it
      }
    }
  name = world.lead(name);
  if (name.empty()) return;
  const fs::path folder = folder_of(run) / name;
  if (!world.leads()) fs::create_directories(folder);
  for (const char* file : {kCheckpointModel, kCheckpointTraining}) {
    const std::string bytes = world.lead(world.leads() ? read_file(folder / file) : std::string());
    if (!world.leads()) write_file(folder / file, bytes);
  }
}

}  // namespace mega::train
