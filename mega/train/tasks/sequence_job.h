// Training on labelled sequences.
#pragma once

#include "mega/data/dataset.h"
#include "mega/data/recipe_data.h"
#include "mega/data/suspicions.h"
#include "mega/train/tasks/job.h"
#include "mega/train/tasks/sequence_task.h"

namespace mega::train {

class SequenceJob : public Job {
 public:
  explicit SequenceJob(const Recipe& recipe);

  std::string describe() const override;
  std::vector<std::string> suspicions() const override {
    return find_suspicions(dataset_, data::dataset_request(recipe_));
  }
  const std::string& checksum() const override { return dataset_.checksum; }
  LargestBatch largest_batch() const override;
  std::vector<std::pair<std::string, std::string>> summary() const override;
  std::vector<BaselineScores> baselines(double max_seconds) const override;
  std::unique_ptr<Task> make_task(torch::Device device) const override;

 private:
  data::Encoder encoder() const;

  data::Dataset dataset_;
  Signature signature_;
};

// Of a part's examples, as the recipe batches them.
LargestBatch largest_batch(const data::Part& part, const data::Encoder& encoder, const Recipe& recipe);

}  // namespace mega::train
