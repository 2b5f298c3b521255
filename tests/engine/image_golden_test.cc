// The engine against the release for images: its EMA, its block, and the whole model, wherever a file holds
// what a trained model computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "mega/config/files/model_file.h"
#include "mega/infer/layers/feed_forward.h"
#include "mega/infer/layers/gated_attention.h"
#include "mega/infer/models/image_classifier.h"
#include "tests/base/helpers.h"
#include "tests/checkpoints/folders.h"
#include "tests/golden/images.h"

namespace mega::testing {
namespace {

using infer::Segment;

class EngineImageGolden : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  EngineImageGolden()
      : file_(Safetensors::open(GetParam())), golden_(GetParam()), weights_(file_, "golden file") {}

  infer::Run run() { return {pool_, work_}; }

  // Calls compute(rows, segment) for each whole sequence of in.x (time, batch, channel), which it replaces.
  template <class Compute>
  Tensor whole(const Compute& compute) {
    const Tensor x = golden_.input("x").detach().transpose(0, 1).contiguous().clone();
    for (int64_t b = 0; b < x.size(0); ++b)
      compute(kernels::Rows{x[b].data_ptr<float>(), x.size(2)}, Segment{nullptr, 0, x.size(1)});
    return x.transpose(0, 1);
  }

  void average() {
    const int64_t width = golden_.number("embed_dim");
    const infer::MovingAverage average(weights_, "param", width, image_ema_options(golden_));
    golden_.value("out.y", whole([&](kernels::Rows rows, const Segment& segment) {
                    std::vector<float> out(static_cast<size_t>(segment.length * width));
                    average.forward({rows.data, rows.stride}, {out.data(), width}, {&segment, 1}, 0, run());
                    std::copy(out.begin(), out.end(), rows.data);
                  }));
  }

  void block() {
    const BlockOptions options = image_layer_options(golden_);
    const infer::GatedAttention attention(weights_, "param.mega_layer", options);
    const infer::FeedForward feed_forward(weights_, "param.nffn", options);
    golden_.value("out.y", whole([&](kernels::Rows rows, const Segment& segment) {
                    attention.forward(rows, segment.length, {&segment, 1}, 0, run());
                    feed_forward.forward(rows, segment.length, run());
                  }));
  }

  void model() {
    const ImageClassifierOptions options = image_classifier_options(golden_);
    std::vector<TensorView> tensors;
    for (TensorView tensor : file_.tensors()) {
      if (!tensor.name.starts_with("param.")) continue;
      tensor.name = tensor.name.substr(6);
      tensors.push_back(tensor);
    }
    const ScratchFolder folder;
    write_model_file(folder / "model.safetensors", {options}, tensors);
    const auto engine = infer::ImageClassifier::open(folder / "model.safetensors");
    const Tensor pictures = golden_.input("image").detach();
    const Tensor pixels = pictures.permute({0, 2, 3, 1}).contiguous();
    const Tensor outputs = torch::empty({pictures.size(0), options.classes});
    for (int64_t i = 0; i < pictures.size(0); ++i) {
      const auto size = static_cast<size_t>(pixels[i].numel());
      const infer::SequenceView picture{{}, {pixels[i].data_ptr<float>(), size}, options.max_length()};
      std::vector<float> said = engine->outputs({&picture, 1}, run());
      outputs[i].copy_(torch::from_blob(said.data(), {options.classes}));
    }
    golden_.value("out.y", outputs);
  }

  Safetensors file_;
  Golden golden_;
  infer::WeightFile weights_;
  infer::ThreadPool pool_{2};
  infer::Workspace work_;
};

TEST_P(EngineImageGolden, Agrees) {
  const std::string name = GetParam().stem().string();
  if (name.starts_with("image_ema_")) return average();
  if (name.starts_with("image_layer_")) return block();
  model();
}

// All but those whose outputs are of training alone: statistics of the batch, and dropped paths.
std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of("MEGA_GOLDEN_DIR"))) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with("image_") && name != "image_batchnorm_train" && name != "image_droppath_train")
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Files, EngineImageGolden, ::testing::ValuesIn(files()),
                         [](const auto& file) { return file.param.stem().string(); });

}  // namespace
}  // namespace mega::testing
