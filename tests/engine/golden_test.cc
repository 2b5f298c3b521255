// The engine against streams computed by the released implementation: every *_inc_* file of a part that the
// engine supports, in the file's segments, in single steps and in random splits.
#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "mega/config/files/model_file.h"
#include "mega/infer/session.h"
#include "tests/base/helpers.h"
#include "tests/golden/options.h"

namespace mega::testing {
namespace {

using infer::Segment;
using infer::State;
using kernels::WeightType;
using Lengths = std::vector<int64_t>;

Lengths cuts(int64_t length, const std::function<int64_t()>& next) {
  Lengths lengths;
  for (int64_t left = length; left > 0; left -= lengths.back()) lengths.push_back(std::min(left, next()));
  return lengths;
}

// Calls run(lengths) for several ways to split a stream, and compares its result, which is in the file's
// layout.
template <class Stream>
void check_cuts(Golden& golden, const std::string& name, int64_t length, const Stream& run) {
  Lengths segments;
  for (const std::string& text : split(golden.option("segments"), ',')) segments.push_back(std::stoll(text));
  golden.value(name, run(segments), " (segments)");
  golden.value(name, run(Lengths{length}), " (at once)");
  golden.value(name, run(cuts(length, [] { return 1; })), " (single steps)");
  std::mt19937 random(1);
  for (int i = 0; i < 3; ++i)
    golden.value(name, run(cuts(length, [&] { return 1 + random() % 13; })), " (random cuts)");
}

// Rows [begin, begin + length) of sequence b of x (time, batch, channel), and back.
std::vector<float> rows_of(const Tensor& x, int64_t b, int64_t begin, int64_t length) {
  const Tensor rows = x.slice(0, begin, begin + length).select(1, b).contiguous();
  return {rows.data_ptr<float>(), rows.data_ptr<float>() + rows.numel()};
}
void put(Tensor y, int64_t b, int64_t begin, int64_t length, const float* rows) {
  y.slice(0, begin, begin + length)
      .select(1, b)
      .copy_(torch::from_blob(const_cast<float*>(rows), {length, y.size(2)}));
}

class EngineGolden : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  EngineGolden()
      : file_(Safetensors::open(GetParam())), golden_(GetParam()), weights_(file_, "golden file") {}

  infer::Run run() { return {pool_, work_}; }

  // Streams x (time, batch, channel) through step(rows, length, segment), with a new state per sequence.
  template <class Step>
  Tensor stream(const Tensor& x, const Lengths& lengths, const std::function<State()>& start,
                const Step& step) {
    Tensor y = torch::empty_like(x);
    for (int64_t b = 0; b < x.size(1); ++b) {
      State state = start();
      int64_t begin = 0;
      for (const int64_t length : lengths) {
        std::vector<float> rows = rows_of(x, b, begin, length);
        const Segment segment{&state, 0, length};
        step(kernels::Rows{rows.data(), x.size(2)}, length, segment);
        state.position += length;
        put(y, b, begin, length, rows.data());
        begin += length;
      }
    }
    return y;
  }

  void average() {
    const int64_t width = golden_.number("embed_dim");
    const infer::MovingAverage average(weights_, "param", width, ema_options(golden_));
    const Tensor x = golden_.input("x").detach();
    check_cuts(golden_, "out.y", x.size(0), [&](const Lengths& lengths) {
      const auto start = [&] {
        State state;
        state.blocks.resize(1);
        state.blocks[0].averages.resize(static_cast<size_t>(average.state_size()));
        return state;
      };
      return stream(x, lengths, start, [&](kernels::Rows rows, int64_t length, const Segment& segment) {
        std::vector<float> out(static_cast<size_t>(length * width));
        average.forward({rows.data, rows.stride}, {out.data(), width}, {&segment, 1}, 0, run());
        std::copy(out.begin(), out.end(), rows.data);
      });
    });
  }

  void layer() {
    const infer::GatedAttention layer(weights_, "param", layer_options(golden_));
    const Tensor x = golden_.input("x").detach();
    check_cuts(golden_, "out.y", x.size(0), [&](const Lengths& lengths) {
      const auto start = [&] {
        State state;
        state.blocks.push_back(layer.initial_state(WeightType::f32, infer::KeyValueCache::kPage));
        return state;
      };
      return stream(x, lengths, start, [&](kernels::Rows rows, int64_t length, const Segment& segment) {
        layer.forward(rows, length, {&segment, 1}, 0, run());
      });
    });
  }

  // The weights under the names of a model file.
  void language_model() {
    ModelOptions options;
    options.model = language_options(golden_);
    std::vector<TensorView> tensors;
    for (TensorView tensor : file_.tensors()) {
      if (!tensor.name.starts_with("param.")) continue;
      tensor.name = tensor.name.substr(6);
      tensors.push_back(tensor);
    }
    const ScratchFolder folder;
    write_model_file(folder / "model.safetensors", options, tensors);
    const auto model = infer::LanguageModel::open(folder / "model.safetensors");
    const auto pool = std::make_shared<infer::ThreadPool>(2);
    const Tensor tokens = golden_.input("tokens");
    if (!model->options().cutoffs.empty()) return adaptive(model, pool, tokens);
    check_cuts(golden_, "out.y", tokens.size(1), [&](const Lengths& lengths) {
      Tensor y = torch::empty({tokens.size(0), tokens.size(1), model->output().vocabulary()});
      for (int64_t b = 0; b < tokens.size(0); ++b) {
        infer::Session session(model, pool);
        int64_t begin = 0;
        for (const int64_t length : lengths) {
          // Logits are those of the last token fed; forks give those of the tokens before it.
          for (int64_t i = 1; i <= length; ++i) {
            std::vector<int32_t> piece;
            for (int64_t t = begin; t < begin + i; ++t)
              piece.push_back(static_cast<int32_t>(tokens[b][t].item<int64_t>()));
            infer::Session fork = session.fork();
            fork.feed(piece);
            const auto logits = fork.logits();
            y[b][begin + i - 1].copy_(
                torch::from_blob(const_cast<float*>(logits.data()), {std::ssize(logits)}));
            if (i == length) session = fork;
          }
          begin += length;
        }
      }
      return y;
    });
  }

  // For an adaptive model the files hold features instead of scores, so the target probabilities are
  // compared.
  void adaptive(const std::shared_ptr<const infer::LanguageModel>& model,
                const std::shared_ptr<infer::ThreadPool>& pool, const Tensor& tokens) {
    const Tensor targets = golden_.input("target");
    const auto numbers = [](const Tensor& row) {
      const Tensor copy = row.to(torch::kInt32).contiguous();
      return std::vector<int32_t>(copy.data_ptr<int32_t>(), copy.data_ptr<int32_t>() + copy.numel());
    };
    check_cuts(golden_, "aux.target_logprob", tokens.size(1), [&](const Lengths& lengths) {
      Tensor y = torch::empty(tokens.sizes());
      for (int64_t b = 0; b < tokens.size(0); ++b) {
        infer::Session session(model, pool);
        int64_t begin = 0;
        for (const int64_t length : lengths) {
          const auto piece = numbers(tokens[b].slice(0, begin, begin + length));
          const auto next = numbers(targets[b].slice(0, begin, begin + length));
          std::vector<float> scores(piece.size());
          session.score(piece, next, scores);
          y[b].slice(0, begin, begin + length).copy_(torch::from_blob(scores.data(), {length}));
          begin += length;
        }
      }
      return y;
    });
  }

  Safetensors file_;
  Golden golden_;
  infer::WeightFile weights_;
  infer::ThreadPool pool_{2};
  infer::Workspace work_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EngineGolden);

TEST_P(EngineGolden, Agrees) {
  const std::string name = GetParam().stem().string();
  if (golden_.has("in.padding_mask")) GTEST_SKIP() << "the engine's streams have no padding: " << name;
  if (name.starts_with("cross_") || name.starts_with("mt_"))
    GTEST_SKIP() << "in infer_models_translator_golden_test: " << name;
  if (name.starts_with("ema_")) {
    average();
  } else if (name.starts_with("mega_")) {
    layer();
  } else if (name.starts_with("lm_")) {
    language_model();
  } else {
    FAIL() << name << ": unknown kind of file";
  }
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> paths;
  const char* folder = std::getenv("MEGA_GOLDEN_DIR");
  if (folder == nullptr || !std::filesystem::is_directory(folder)) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors") && name.find("_inc_") != std::string::npos)
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& file) {
  return file.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Files, EngineGolden, ::testing::ValuesIn(files()), name_of);

}  // namespace
}  // namespace mega::testing
