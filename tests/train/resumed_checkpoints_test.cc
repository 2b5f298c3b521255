// Trainings that the released programs began go on as they would have: the next updates are the stored ones.
#include <gtest/gtest.h>

#include "mega/base/files/json.h"
#include "mega/base/options/options_io.h"
#include "mega/config/import/import_checkpoint.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/torch.h"
#include "mega/train/adamw.h"
#include "mega/train/checkpoint.h"
#include "mega/train/run.h"
#include "mega/train/saved_model.h"
#include "mega/train/schedule.h"
#include "tests/base/helpers.h"
#include "tests/checkpoints/folders.h"

namespace mega::testing {
namespace {

using torch::Tensor;

std::vector<CheckpointCase> resumable_cases() {
  std::vector<CheckpointCase> cases;
  for (CheckpointCase& one : checkpoint_cases())
    if (one.description.contains("resume")) cases.push_back(std::move(one));
  return cases;
}

// A run that was imported, and what its program computed when it went on.
class ResumedTraining : public ::testing::TestWithParam<CheckpointCase> {
 protected:
  void open() {
    ImportRequest request{GetParam().folder / "model.pt", ""};
    request.training_state = true;
    const ImportedModel imported = import_checkpoint(request);
    kind_ = imported.options.kind().task();
    imported.write_run(run_);
    recipe_ = train::load_run_recipe(run_);
    checkpoint_ = train::newest_checkpoint(run_, [](const std::string& line) { FAIL() << line; });
    ASSERT_TRUE(checkpoint_.has_value());
    if (kind_ == ModelTask::language) {
      language_ = train::load_language_model(run_ / "model.safetensors").model;
      module_ = language_.get();
    } else {
      sequence_ = train::load_model(run_ / "model.safetensors").model;
      module_ = sequence_.get();
    }
    module_->train();
    for (const auto& item : module_->named_parameters()) parameters_.emplace_back(item.key(), item.value());
    optimizer_ =
        std::make_unique<train::AdamW>(parameters_, recipe_.train, imported.options.kind().tensors());
    optimizer_->load_state(checkpoint_->training);
  }

  Tensor stored(const std::string& name) const { return ops::to_tensor(expected_.at(name)); }

  // The mean over what the program counts: examples, or tokens.
  Tensor loss(const std::string& batch) {
    if (kind_ == ModelTask::language) {
      const Tensor source = stored(batch + "source"), target = stored(batch + "target");
      const Tensor mask = source == static_cast<int64_t>(kPad), real = target != static_cast<int64_t>(kPad);
      const Tensor features = language_->features(source, mask.any().item<bool>() ? mask : Tensor());
      return language_->losses(features.index({real}), target.index({real})).mean();
    }
    if (kind_ == ModelTask::image) {
      const Tensor pixels = stored(batch + "image").flatten(2).transpose(1, 2).contiguous();
      return -(stored(batch + "target") * torch::log_softmax(sequence_->predict({{pixels, {}}}), 1))
                  .sum(1)
                  .mean();
    }
    const Tensor said = sequence_->predict({{stored(batch + "tokens"), stored(batch + "lengths")}});
    return torch::nll_loss(torch::log_softmax(said, 1), stored(batch + "target"));
  }

  // The gradients of a batch are the stored ones, and an update with those is made. (With ours, which agree,
  // it would differ where a gradient is rounding alone, as that of the keys' bias under a softmax: Adam
  // divides it by its own size.)
  void update(const std::string& batch, const std::string& gradients, double rate, double norm) {
    optimizer_->zero_gradients();
    loss(batch).backward();
    for (auto& [name, parameter] : parameters_) {
      const Tensor grad = parameter.grad().defined() ? parameter.grad() : torch::zeros_like(parameter);
      const Tensor wanted = stored(gradients + name);
      expect_close(wanted, grad, 1e-5, "gradient of " + name);
      parameter.mutable_grad() = wanted;
    }
    EXPECT_NEAR(optimizer_->step(rate), norm, 1e-5 * norm);
  }

  static void expect_close(const Tensor& wanted, const Tensor& actual, double tolerance,
                           const std::string& what) {
    const double largest = std::max(1e-3, wanted.abs().max().item<double>());
    EXPECT_LE((wanted - actual.detach()).abs().max().item<double>(), tolerance * largest) << what;
  }

  void expect_parameters(const std::string& prefix) {
    for (const auto& [name, parameter] : parameters_)
      expect_close(stored(prefix + name), parameter, 1e-5, name);
  }

  const nlohmann::json& description() const { return GetParam().description.at("resume"); }

  ScratchFolder folder_;
  std::filesystem::path run_ = folder_ / "run";
  Safetensors expected_ = Safetensors::open(GetParam().folder / "resume.safetensors");
  ModelTask kind_ = ModelTask::sequence;
  Recipe recipe_;
  std::optional<train::Checkpoint> checkpoint_;
  std::shared_ptr<models::SequenceModel> sequence_;
  std::shared_ptr<models::TokenModel> language_;
  torch::nn::Module* module_ = nullptr;
  ops::NamedTensors parameters_;
  std::unique_ptr<train::AdamW> optimizer_;
};

TEST_P(ResumedTraining, MakesTheStoredUpdates) {
  open();
  if (HasFatalFailure()) return;
  if (kind_ == ModelTask::image) {
    // The program begins a resumed run at the rate of one epoch later, which an uninterrupted run does not.
    const double rate = train::learning_rate(recipe_.train, checkpoint_->state.update + recipe_.train.hold);
    EXPECT_NEAR(rate, description().at("learning_rate_of_the_update").get<double>(), 1e-12);
    update("in.", "grad.", rate, description().at("gradient_norm_before_clipping"));
    return expect_parameters("after.param.");
  }
  int64_t last = 0;
  for (const nlohmann::json& one : description().at("updates")) {
    last = one.at("update");
    const std::string number = std::to_string(last);
    const double rate = train::learning_rate(recipe_.train, last - 1);
    EXPECT_NEAR(rate, one.at("learning_rate").get<double>(), 1e-12);
    update("in." + number + ".", "grad." + number + ".", rate, one.at("gradient_norm_before_clipping"));
    expect_parameters("after." + number + ".param.");
  }
  EXPECT_EQ(checkpoint_->state.update + std::ssize(description().at("updates")), last);
  const ops::NamedTensors state = optimizer_->state();
  for (const auto& [name, tensor] : state)
    for (const auto& [ours, theirs] : {std::pair{"mean.", ".exp_avg."}, std::pair{"square.", ".exp_avg_sq."}})
      if (name.starts_with(ours))
        expect_close(stored("after." + std::to_string(last) + theirs + name.substr(std::strlen(ours))),
                     tensor, 1e-5, name);
}

INSTANTIATE_TEST_SUITE_P(Folders, ResumedTraining, ::testing::ValuesIn(resumable_cases()),
                         [](const auto& one) { return test_name(one.param.name()); });

TEST(ImportedTraining, NeedsTheStateOfAnOptimizer) {
  for (const char* name : {"lra-listops", "hf-causal-lm"}) {
    const CheckpointCase one = checkpoint_case(name);
    const bool torch = std::filesystem::exists(one.folder / "model.pt");
    ImportRequest request{torch ? one.folder / "model.pt" : one.folder, ""};
    request.training_state = true;
    EXPECT_PRED2(contains, error_of([&] { import_checkpoint(request); }), "without --training-state") << name;
  }
}

}  // namespace
}  // namespace mega::testing
