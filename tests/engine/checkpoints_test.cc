// Models of the released programs in libtorch: what they compute is what those programs computed. (In the
// engine: tests/infer/models/checkpoints_test.cc.)
#include <gtest/gtest.h>

#include "mega/nn/state.h"
#include "mega/ops/torch.h"
#include "mega/train/saved_model.h"
#include "tests/checkpoints/imported.h"

namespace mega::testing {
namespace {

class ModulesRun : public ImportedCheckpoint {
 protected:
  torch::Tensor floats(const std::string& name) const {
    return as_tensor(expected<float>(name), torch::kFloat32);
  }
  torch::Tensor integers(const std::string& name) const {
    return as_tensor(expected<int64_t>(name), torch::kInt64);
  }

  template <class Value>
  static torch::Tensor as_tensor(const Rows<Value>& rows, torch::ScalarType type) {
    return torch::from_blob(const_cast<Value*>(rows.values.data()), rows.shape, type).clone();
  }

  static void expect_same(const torch::Tensor& wanted, const torch::Tensor& actual, const std::string& what) {
    const torch::Tensor a = wanted.contiguous(), b = actual.to(torch::kFloat32).contiguous();
    expect_close({a.data_ptr<float>(), static_cast<size_t>(a.numel())},
                 {b.data_ptr<float>(), static_cast<size_t>(b.numel())}, what);
  }

  void check_classifier() {
    const train::SavedModel saved = train::load_model(path_);
    saved.model->eval();
    std::vector<models::Sequences> documents;
    for (const std::string suffix : {"", "1"})
      if (is_expected("in.tokens" + suffix))
        documents.push_back({integers("in.tokens" + suffix), integers("in.lengths" + suffix)});
    if (is_huggingface())
      documents.push_back({integers("in.input_ids"), integers("in.attention_mask").sum(1)});
    for (const char* name : {"in.values", "in.samples"})
      if (is_expected(name)) documents.push_back({floats(name), {}});
    if (is_expected("in.image"))  // colours before rows there, positions before colours here
      documents.push_back({floats("in.image").flatten(2).transpose(1, 2).contiguous(), {}});
    expect_same(floats("out.logits"), saved.model->predict(documents), "logits");
  }

  void check_language_model() {
    const auto saved = train::load_language_model(path_);
    saved.model->eval();
    const torch::Tensor source = integers("in.source"), mask = source == static_cast<int64_t>(kPad);
    const torch::Tensor features = saved.model->features(source, mask).masked_select(~mask.unsqueeze(2));
    const torch::Tensor lprobs = floats("out.lprobs");
    const int64_t types = lprobs.size(2);
    const torch::Tensor wanted = lprobs.masked_select(~mask.unsqueeze(2)).view({-1, types});
    expect_same(wanted, saved.model->log_probabilities(features.view({wanted.size(0), -1})), "log p");
  }

  // Causal or masked: what the last block made of each position, and log p of every token there.
  void check_huggingface() {
    const auto saved = train::load_language_model(path_);
    saved.model->eval();
    const torch::Tensor mask = integers("in.attention_mask") == 0;
    const torch::Tensor features = saved.model->features(integers("in.input_ids"), mask);
    expect_same(floats("out.hidden"), features, "features");
    const torch::Tensor rows = ~mask;
    expect_same(torch::log_softmax(floats("out.logits"), 2).index({rows}),
                saved.model->log_probabilities(features.index({rows})), "log p");
    // In training the loss takes another way.
    const torch::Tensor targets = integers("in.input_ids").index({rows});
    expect_same(
        -torch::log_softmax(floats("out.logits"), 2).index({rows}).gather(1, targets.unsqueeze(1)).squeeze(1),
        saved.model->losses(features.index({rows}), targets), "losses");
  }

  // As the released evaluation: other chunks than in training, and one state for the whole text.
  void check_stream() {
    const auto saved = train::load_language_model(path_, description().at("stream").at("chunk"));
    saved.model->eval();
    const torch::Tensor source = integers("in.stream_source"), target = integers("in.stream_target");
    const int64_t segment = description().at("stream").at("segment");
    nn::State state;
    std::vector<torch::Tensor> parts;
    for (int64_t begin = 0; begin < source.size(1); begin += segment) {
      const int64_t end = std::min(begin + segment, source.size(1));
      const torch::Tensor features = saved.model->features(source.slice(1, begin, end), {}, &state);
      parts.push_back(-saved.model->losses(features[0], target[0].slice(0, begin, end)));
    }
    expect_same(floats("out.stream_token_lprobs"), torch::cat(parts), "stream");
  }

  void check_translator() {
    const auto saved = train::load_translation_model(path_);
    saved.model->eval();
    const torch::Tensor sources = integers("in.source"), before = integers("in.previous"),
                        lprobs = floats("out.lprobs");
    for (int64_t i = 0; i < sources.size(0); ++i) {
      const auto real = [&](const torch::Tensor& rows) {
        return rows[i].masked_select(rows[i] != static_cast<int64_t>(kPad)).unsqueeze(0);
      };
      const torch::Tensor tokens = real(before);
      const torch::Tensor features = saved.model->features(tokens, {}, saved.model->encode(real(sources)));
      expect_same(lprobs[i].slice(0, 0, tokens.size(1)), saved.model->log_probabilities(features[0]),
                  "log p");
    }
  }

  const torch::NoGradGuard guard_;
};

TEST_P(ModulesRun, AsReleased) {
  switch (task()) {
    case ModelTask::sequence:
    case ModelTask::image:
      return check_classifier();
    case ModelTask::language:
      if (is_huggingface()) return check_huggingface();
      check_language_model();
      return check_stream();
    case ModelTask::translation:
      return check_translator();
  }
  FAIL() << "no such task";
}

INSTANTIATE_TEST_SUITE_P(Folders, ModulesRun, ::testing::ValuesIn(importable_cases()),
                         [](const auto& one) { return test_name(one.param.name()); });

}  // namespace
}  // namespace mega::testing
