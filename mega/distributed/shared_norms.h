// Batch norms whose batch is that of all processes together.
#pragma once

#include <memory>
#include <vector>

#include "mega/distributed/communicator.h"
#include "mega/nn/mega_block.h"

namespace mega::distributed {

// While it exists, the batch norms of a model share their statistics, and all processes skip the same blocks.
class SharedNorms {
 public:
  // An Error if the model has norms that cannot. The communicator must outlive it.
  SharedNorms(torch::nn::Module& model, Communicator& communicator);
  ~SharedNorms();
  SharedNorms(const SharedNorms&) = delete;
  SharedNorms& operator=(const SharedNorms&) = delete;

  // Whether there are any.
  bool any() const { return !norms_.empty(); }

  // A process without an example of its own reads another's, so that it takes part in every sum. It adds
  // nothing to them (listening: forward), and nothing comes back, since the statistics do not depend on what
  // it read (silent: backward).
  enum class Part { full, listening, silent };
  void take(Part part);

 private:
  class Sum;

  std::vector<std::shared_ptr<nn::SequenceNormImpl>> norms_;
  std::vector<std::shared_ptr<nn::MegaBlockImpl>> blocks_;
  std::shared_ptr<Sum> sum_;
};

}  // namespace mega::distributed
