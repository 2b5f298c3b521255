#include "mega/train/evaluation/batch_predictor.h"

#include "mega/base/error.h"
#include "mega/train/batch_tensors.h"

namespace mega::train {

TorchPredictor::TorchPredictor(models::SequenceModel& model, torch::Device device)
    : model_(model), device_(device), was_training_(model.is_training()) {
  model_.eval();
}

TorchPredictor::~TorchPredictor() { model_.train(was_training_); }

std::vector<std::vector<float>> TorchPredictor::outputs(const data::Batch& batch) {
  const torch::NoGradGuard guard;
  torch::Tensor said;
  try {
    said = model_.predict(to_sequences(batch, device_)).to(torch::kCPU, torch::kFloat32).contiguous();
  } catch (const Error& error) {
    fail(batch.names.front(), batch.size() > 1 ? " and those that were read with it" : "", ": ",
         error.what());
  }
  std::vector<std::vector<float>> rows;
  const float* row = said.data_ptr<float>();
  for (int64_t i = 0; i < batch.size(); ++i, row += said.size(1)) rows.emplace_back(row, row + said.size(1));
  return rows;
}

}  // namespace mega::train
