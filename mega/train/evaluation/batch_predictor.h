// What a model of whole sequences says of a batch, whatever runs it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mega/data/batches.h"
#include "mega/infer/models/side_by_side.h"
#include "mega/models/sequence_model.h"

namespace mega::train {

class BatchPredictor {
 public:
  virtual ~BatchPredictor() = default;

  // Of each example: logits of the classes, or the predicted numbers, standardised. The engine throws where
  // they are not finite; libtorch's modules, whose training may diverge, do not.
  virtual std::vector<std::vector<float>> outputs(const data::Batch& batch) = 0;
  // Examples of a batch times the longest, at least one.
  virtual int64_t positions_together() const = 0;
};

// The modules of libtorch, in evaluation mode as long as this lives.
class TorchPredictor : public BatchPredictor {
 public:
  TorchPredictor(models::SequenceModel& model, torch::Device device);
  ~TorchPredictor() override;
  TorchPredictor(const TorchPredictor&) = delete;
  TorchPredictor& operator=(const TorchPredictor&) = delete;

  std::vector<std::vector<float>> outputs(const data::Batch& batch) override;
  int64_t positions_together() const override { return model_.positions_together(); }

 private:
  models::SequenceModel& model_;
  torch::Device device_;
  bool was_training_;
};

// The engine, faster where it runs the model: each thread reads examples of its own.
class EnginePredictor : public BatchPredictor {
 public:
  // Model and pool must outlive it.
  EnginePredictor(const infer::SequenceModel& model, infer::ThreadPool& pool)
      : many_(model, pool),
        together_(std::max<int64_t>(1 << 18, 16 * pool.threads() * model.options().max_length())) {}

  std::vector<std::vector<float>> outputs(const data::Batch& batch) override { return many_.outputs(batch); }
  // The engine needs no batches: these are so large that threads rarely wait for each other, and so small
  // that one sees progress.
  int64_t positions_together() const override { return together_; }

 private:
  infer::SideBySide many_;
  int64_t together_;
};

}  // namespace mega::train
