// Trains a translator on parallel text.
#pragma once

#include "mega/config/files/signature.h"
#include "mega/data/parallel/parallel_corpus.h"
#include "mega/train/tasks/job.h"

namespace mega::train {

class TranslationJob : public Job {
 public:
  explicit TranslationJob(const Recipe& recipe);

  std::string describe() const override;
  std::vector<std::string> suspicions() const override;
  const std::string& checksum() const override { return corpus_.checksum; }
  LargestBatch largest_batch() const override { return largest_; }
  std::vector<std::pair<std::string, std::string>> summary() const override;
  std::unique_ptr<Task> make_task(torch::Device device) const override;

 private:
  data::ParallelCorpus corpus_;
  Signature signature_;
  LargestBatch largest_;
};

}  // namespace mega::train
