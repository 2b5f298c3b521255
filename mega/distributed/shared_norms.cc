#include "mega/distributed/shared_norms.h"

#include <utility>

#include "mega/base/error.h"

namespace mega::distributed {

class SharedNorms::Sum : public nn::Communicator {
 public:
  explicit Sum(distributed::Communicator& communicator) : communicator_(communicator) {}
  void all_reduce_sum(torch::Tensor& x) override {
    if (part_ != Part::full) x.zero_();
    communicator_.all_reduce_sum(x);
    if (part_ == Part::silent) x.zero_();
  }
  void take(Part part) { part_ = part; }

 private:
  distributed::Communicator& communicator_;
  Part part_ = Part::full;
};

SharedNorms::SharedNorms(torch::nn::Module& model, Communicator& communicator)
    : sum_(std::make_shared<Sum>(communicator)) {
  for (const auto& module : model.modules()) {
    require(
        module->as<torch::nn::BatchNorm1d>() == nullptr && module->as<torch::nn::BatchNorm2d>() == nullptr,
        "this model has batch norms that cannot share their statistics between processes (", module->name(),
        "): train it with one process");
    auto norm = std::dynamic_pointer_cast<nn::SequenceNormImpl>(module);
    if (norm != nullptr && norm->over_batch()) norms_.push_back(std::move(norm));
    if (auto block = std::dynamic_pointer_cast<nn::MegaBlockImpl>(module))
      blocks_.push_back(std::move(block));
  }
  if (norms_.empty()) blocks_.clear();
  for (const auto& norm : norms_) norm->set_communicator(sum_);
  for (const auto& block : blocks_) block->set_communicator(sum_);
}

SharedNorms::~SharedNorms() {
  for (const auto& norm : norms_) norm->set_communicator(nullptr);
  for (const auto& block : blocks_) block->set_communicator(nullptr);
}

void SharedNorms::take(Part part) { sum_->take(part); }

}  // namespace mega::distributed
