#include "mega/train/batch_tensors.h"

#include "mega/models/token_tensor.h"

namespace mega::train {

models::Sequences to_sequences(const data::SequenceSet& set, const torch::Device& device) {
  const auto rows = static_cast<int64_t>(set.lengths.size());
  std::vector<int64_t> shape = {rows, set.length};
  if (set.channels > 1) shape.push_back(set.channels);
  models::Sequences sequences;
  // Cloned: the batch's memory does not live as long.
  sequences.values =
      set.tokens.empty()
          ? torch::from_blob(const_cast<float*>(set.values.data()), shape, torch::kFloat32).clone()
          : models::token_tensor(set.tokens, shape);
  sequences.lengths = torch::tensor(set.lengths);
  sequences.values = sequences.values.to(device);
  sequences.lengths = sequences.lengths.to(device);
  return sequences;
}

std::vector<models::Sequences> to_sequences(const data::Batch& batch, const torch::Device& device) {
  std::vector<models::Sequences> inputs;
  for (const data::SequenceSet& set : batch.inputs) inputs.push_back(to_sequences(set, device));
  return inputs;
}

}  // namespace mega::train
