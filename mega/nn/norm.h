// Normalisation of a sequence: layer, scale, RMS, batch, and batch across processes.
#pragma once

#include <memory>

#include "mega/config/models/layer_options.h"
#include "mega/ops/batch_norm.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// Communication with the other processes of a data-parallel run, for batch statistics.
struct Communicator {
  virtual ~Communicator() = default;
  // Replaces x with its sum over all processes; every process calls it with the same shape, in the same
  // order.
  virtual void all_reduce_sum(torch::Tensor& x) = 0;
};

// The released SequenceNorm. eps is 1e-5 for every kind; padding passed by the user is included in batch
// statistics.
class SequenceNormImpl : public torch::nn::Module {
 public:
  SequenceNormImpl(int64_t width, NormKind kind, bool affine = true);

  torch::Tensor forward(const torch::Tensor& x);  // (B, L, D) -> (B, L, D)

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  // Whether it normalises by the statistics of a batch.
  bool over_batch() const;
  // Shares these statistics between processes: the batch is that of all together.
  void set_communicator(std::shared_ptr<Communicator> communicator) {
    communicator_ = std::move(communicator);
  }

 private:
  torch::Tensor batch_norm(const torch::Tensor& x);
  torch::Tensor shared_batch_norm(const torch::Tensor& x);
  // Called after a batch of `count` positions; the running variance is the unbiased one, as released.
  void update_running(const ops::BatchStatistics& batch, double count);

  int64_t width_;
  NormKind kind_;
  bool affine_;
  std::shared_ptr<torch::nn::Module> norm_;  // holds the parameters under the released name `norm`
  torch::Tensor weight_, bias_, running_mean_, running_variance_, batches_;
  std::shared_ptr<Communicator> communicator_;
};
TORCH_MODULE(SequenceNorm);

}  // namespace mega::nn
