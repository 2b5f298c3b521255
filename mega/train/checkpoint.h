// Checkpoints: everything a resumed run needs to continue bit for bit.
//
//   RUN/checkpoints/00000500/model.safetensors      the model after 500 updates
//                            training.safetensors   optimiser, average, cursor
//
// A checkpoint is written under another name, synced, and renamed once: there is never half of one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "mega/config/recipe/precision.h"
#include "mega/data/batch_stream.h"
#include "mega/ops/tensor_file.h"
#include "mega/train/tasks/task.h"

namespace mega::train {

// Where a run stands, beside the weights.
struct TrainingState {
  int64_t update = 0;
  data::Cursor cursor;
  double seconds = 0.0;          // spent on updates,
  double waiting_seconds = 0.0;  // of which waiting for batches
  double wall_seconds = 0.0;     // of the whole run so far, by its clock; known where there is a time budget
  int64_t planned = 0;           // updates in all, as last planned where there is a time budget,
  double budget_seconds = 0.0;   // of so many seconds
  Scores best;
  int64_t best_update = 0;
  int64_t evaluations_since_best = 0;
  int64_t evaluated_update = -1;  // of the last evaluation
  bool evaluation_due = false;    // at this update, but the run was stopped before it
  int threads = 0;
  Precision precision = Precision::f32;  // that updates ran in
};

struct Checkpoint {
  TrainingState state;
  Safetensors model, training;
};

// Writes a checkpoint and then removes all but the newest `keep`, and those of later updates, which the run
// could not be resumed from. On an Error nothing has changed.
void save_checkpoint(const std::filesystem::path& run, const TrainingState& state,
                     const std::function<void(const std::filesystem::path&)>& save_model,
                     const ops::NamedTensors& training, int64_t keep);

// The newest checkpoint that is whole; what is wrong with newer ones goes to `say`. None: nothing was saved
// yet.
std::optional<Checkpoint> newest_checkpoint(const std::filesystem::path& run,
                                            const std::function<void(const std::string&)>& say);

// Gives the newest checkpoint of rank 0's run to the other processes, in whose folders `run` there is none.
void share_checkpoint(distributed::World& world, const std::filesystem::path& run);

}  // namespace mega::train
