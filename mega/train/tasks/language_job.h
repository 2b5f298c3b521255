// Trains a language model on a corpus.
#pragma once

#include "mega/data/corpus/corpus.h"
#include "mega/train/tasks/job.h"

namespace mega::train {

class LanguageJob : public Job {
 public:
  explicit LanguageJob(const Recipe& recipe);

  std::string describe() const override;
  const std::string& checksum() const override { return corpus_.checksum; }
  LargestBatch largest_batch() const override;
  std::vector<std::pair<std::string, std::string>> summary() const override;
  std::unique_ptr<Task> make_task(torch::Device device) const override;

 private:
  data::Corpus corpus_;
};

}  // namespace mega::train
