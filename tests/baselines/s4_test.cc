// S4 and S4D: masks, directions, causality, gradients, streams, sizes.
#include "mega/baselines/s4.h"

#include <gtest/gtest.h>

#include "mega/baselines/model_builders.h"
#include "mega/baselines/s4_layer.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/form.h"
#include "tests/base/helpers.h"
#include "tests/gradcheck.h"
#include "tests/models/helpers.h"

namespace mega::baselines {
namespace {

using testing::contains;
using testing::difference;
using testing::error_of;
using testing::lengths;
using testing::random_tokens;
using testing::with_large_weights;
using torch::Tensor;

template <class Options>
Options tiny() {
  Options options;
  options.vocabulary = 12;
  options.classes = 3;
  options.layers = 2;
  options.width = 10;
  options.state = 6;
  options.copies = 3;
  options.norm = NormKind::layer;
  return options;
}

S4Options tiny_s4() {
  S4Options options = tiny<S4Options>();
  options.kernel_length = 24;
  return options;
}

S4Options tiny_first() {
  S4Options options = tiny_s4();
  options.release = S4Release::v1;
  options.bidirectional = options.glu = false;
  return options;
}

std::vector<ModelOptions> kinds() { return {{tiny<S4DOptions>()}, {tiny_s4()}, {tiny_first()}}; }

template <class Layer>
StateSpaceLanguageOptions<Layer>& make_tiny(StateSpaceLanguageOptions<Layer>& options) {
  options.vocabulary = 12;
  options.layers = 2;
  options.width = 8;
  options.state = 4;
  options.hidden = 12;
  options.chunk = 16;
  return options;
}

std::vector<ModelOptions> language_kinds() {
  S4LanguageOptions s4;
  S4DLanguageOptions s4d;
  make_tiny(s4);
  make_tiny(s4d);
  s4.kernel_length = 16;
  S4LanguageOptions first = s4;
  first.release = S4Release::v1;
  return {{s4d}, {s4}, {first}};
}

TEST(S4, PaddingDoesNotChangeTheLogits) {
  torch::manual_seed(1);
  for (const ModelOptions& options : kinds())
    for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
      const ops::FormGuard guard(form);
      const auto model = make_sequence_model(options);
      model->eval();
      const Tensor batch = random_tokens(4, 21);
      const std::vector<int64_t> sizes = {5, 21, 1, 8};
      std::vector<Tensor> alone;
      for (int64_t i = 0; i < 4; ++i)
        alone.push_back(
            model->predict({{batch.narrow(0, i, 1).slice(1, 0, sizes[static_cast<size_t>(i)]), {}}}));
      EXPECT_LT(difference(torch::cat(alone), model->predict({{batch, lengths(sizes)}})), 2e-5)
          << options.kind_name();
    }
}

// Longer than the length that S4's C is stored for, and shorter.
TEST(S4, AnyLengthWorksInBothForms) {
  torch::manual_seed(2);
  const torch::NoGradGuard no_gradients;
  for (const ModelOptions& options : kinds()) {
    const auto model = make_sequence_model(options);
    model->eval();
    for (const int64_t length : {1, 2, 23, 24, 25, 70}) {
      const Tensor tokens = random_tokens(3, length);
      const auto run = [&](ops::Form form) {
        const ops::FormGuard guard(form);
        return model->predict({{tokens, lengths({length, (length + 1) / 2, 1})}});
      };
      EXPECT_LT(difference(run(ops::Form::fused), run(ops::Form::reference)), 5e-5)
          << options.kind_name() << ", length " << length;
    }
  }
}

// A kernel twice as long begins with the same numbers.
TEST(S4, ALongerKernelBeginsWithTheShorterOne) {
  torch::manual_seed(3);
  for (const S4Options& options : {tiny_s4(), tiny_first()}) {
    const auto kernel = make_kernel(static_cast<const S4LayerOptions&>(options));
    const auto stored = kernel->kernels(24), longer = kernel->kernels(40);
    EXPECT_LT(difference(longer.past.narrow(1, 0, 24), stored.past),
              1e-4 * stored.past.abs().max().item<double>());
    if (options.bidirectional) {
      EXPECT_LT(difference(longer.future.narrow(1, 0, 24), stored.future),
                1e-4 * stored.future.abs().max().item<double>());
    }
  }
}

TEST(S4, SeesTheFutureOnlyInBothDirections) {
  torch::manual_seed(4);
  for (const bool bidirectional : {false, true})
    for (const bool low_rank : {false, true}) {
      S4LayerOptions s4 = tiny_s4();
      S4DLayerOptions s4d = tiny<S4DOptions>();
      s4.bidirectional = s4d.bidirectional = bidirectional;
      S4Layer layer(low_rank ? static_cast<const StateSpaceOptions&>(s4) : s4d,
                    low_rank ? make_kernel(s4) : make_kernel(s4d));
      layer->eval();
      const Tensor x = torch::randn({1, 24, 10});
      Tensor changed = x.clone();
      changed.narrow(1, 12, 12).add_(torch::randn({1, 12, 10}));
      const double past =
          difference(layer->forward(x, {}).narrow(1, 0, 12), layer->forward(changed, {}).narrow(1, 0, 12));
      if (bidirectional) {
        EXPECT_GT(past, 1e-2);
      } else {
        EXPECT_LT(past, 1e-5);
      }
    }
}

TEST(S4, GradientsByFiniteDifferences) {
  torch::manual_seed(5);
  const ops::FormGuard guard(ops::Form::reference);
  for (const ModelOptions& options : kinds()) {
    const auto model = make_sequence_model(options);
    model->to(torch::kFloat64);
    model->eval();
    const Tensor tokens = random_tokens(2, 9);
    std::vector<Tensor> inputs;
    for (const auto& item : model->named_parameters()) {
      if (item.key().find("blocks.0.layer") != std::string::npos) inputs.push_back(item.value());
    }
    ASSERT_GE(inputs.size(), 5u);
    check_gradients([&] { return std::vector<Tensor>{model->predict({{tokens, lengths({9, 4})}})}; }, inputs);
  }
}

TEST(S4, GradientsReachEveryParameter) {
  torch::manual_seed(6);
  for (const ModelOptions& options : kinds())
    for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
      const ops::FormGuard guard(form);
      const auto model = make_sequence_model(options);
      model->predict({{random_tokens(3, 15), lengths({15, 2, 7})}}).square().sum().backward();
      for (const auto& item : model->named_parameters()) {
        ASSERT_TRUE(item.value().grad().defined()) << item.key();
        EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
        EXPECT_GT(item.value().grad().abs().max().item<double>(), 0.0) << item.key();
      }
    }
}

TEST(S4, DropoutIsTheSameInBothForms) {
  for (const bool features : {false, true}) {
    S4DOptions options = tiny<S4DOptions>();
    options.dropout = 0.3;
    options.feature_dropout = features;
    torch::manual_seed(7);
    S4 model(options);
    const Tensor tokens = random_tokens(3, 20);
    const auto run = [&](ops::Form form) {
      const ops::FormGuard guard(form);
      torch::manual_seed(8);
      return model->predict({{tokens, lengths({20, 7, 13})}});
    };
    const Tensor fused = run(ops::Form::fused);
    EXPECT_LT(difference(fused, run(ops::Form::reference)), 5e-5);
    model->eval();
    EXPECT_GT(difference(fused, run(ops::Form::fused)), 1e-3);
  }
}

TEST(S4, ComparesTwoDocuments) {
  S4DOptions options = tiny<S4DOptions>();
  options.documents = 2;
  options.head = 6;
  S4 model(options);
  const models::Sequences first{random_tokens(2, 5), {}}, second{random_tokens(2, 9), lengths({9, 4})};
  EXPECT_EQ(model->predict({first, second}).sizes(), torch::IntArrayRef({2, 3}));
}

// Whole, in segments and token by token, the same numbers; the state can be copied, reordered and saved.
TEST(S4, StreamsEqualWholeTexts) {
  torch::manual_seed(9);
  const torch::NoGradGuard no_gradients;
  for (const ModelOptions& options : language_kinds()) {
    const auto model = make_token_model(options);
    model->eval();
    const Tensor tokens = random_tokens(2, 100), whole = model->features(tokens);
    for (const std::vector<int64_t>& cuts :
         {std::vector<int64_t>(100, 1), std::vector<int64_t>{16, 16, 1, 2, 65}, std::vector<int64_t>{100}}) {
      nn::State state;
      std::vector<Tensor> pieces;
      int64_t at = 0;
      for (const int64_t length : cuts) {
        pieces.push_back(model->features(tokens.narrow(1, at, length), {}, &state));
        at += length;
      }
      EXPECT_LT(difference(torch::cat(pieces, 1), whole), 1e-4)
          << options.kind_name() << ", " << cuts.size() << " segments";
      EXPECT_EQ(state.blocks[0].attention.position, 100);
    }
    nn::State state;
    model->features(tokens, {}, &state);
    const Tensor next = random_tokens(2, 3), order = lengths({1, 0});
    nn::State turned = nn::reorder(state, order);
    EXPECT_LT(difference(model->features(next.index_select(0, order), {}, &turned),
                         model->features(next, {}, &state).index_select(0, order)),
              1e-5);
  }
}

TEST(S4, TheStateOfAnotherModelIsAnError) {
  const auto model = make_token_model(language_kinds()[0]);
  nn::State state;
  state.blocks.resize(2);
  state.blocks[0].attention.ema = torch::zeros({2, 8, 5});
  EXPECT_PRED2(contains, error_of([&] { model->features(random_tokens(2, 3), {}, &state); }),
               "must be (batch, 8, 8)");
}

TEST(S4, LanguageModelsAreCausal) {
  torch::manual_seed(10);
  const torch::NoGradGuard no_gradients;
  for (const ModelOptions& options : language_kinds()) {
    const auto model = make_token_model(options);
    model->eval();
    const Tensor tokens = random_tokens(1, 40);
    Tensor changed = tokens.clone();
    changed.narrow(1, 20, 20).copy_(random_tokens(1, 20));
    EXPECT_LT(difference(model->features(tokens).narrow(1, 0, 20), model->features(changed).narrow(1, 0, 20)),
              1e-5);
  }
}

// state-spaces/s4 with its own vocabularies; the paper's 300K and 249M.
TEST(S4, HasThePublishedSizes) {
  const auto count = [](const char* preset, int64_t vocabulary) {
    ModelOptions options = load_preset(preset).model;
    if (vocabulary > 0) sequence_options(options)->vocabulary = vocabulary;
    return count_parameters(options).total;
  };
  EXPECT_EQ(count("lra-text-s4", 135), 1'322'754);
  EXPECT_EQ(count("lra-text-s4-v1", 135), 217'218);
  EXPECT_EQ(count("lra-listops-s4", 18), 599'562);
  EXPECT_EQ(count("lra-listops-s4-v1", 18), 302'730);
  EXPECT_EQ(count("lra-image-s4", 0), 3'565'834);
  EXPECT_EQ(count("lra-image-s4-v1", 0), 2'381'194);
  EXPECT_EQ(count("lra-pathfinder-s4", 0), 1'288'706);
  EXPECT_EQ(count("lra-pathx-s4-v1", 0), 796'034);
  EXPECT_EQ(count("sc-base-s4", 0), 300'938);
  EXPECT_NEAR(static_cast<double>(count("wikitext103-s4", 0)), 249e6, 1e6);
}

// `--set model.kind=s4`: the published model of a preset, or one as large as Mega.
TEST(S4, TakesTheSizeThatWasPublishedOrMegas) {
  Recipe text = load_preset("lra-text");
  change(text, "model.kind=s4");
  EXPECT_EQ(count_parameters(text.model).total, count_parameters(load_preset("lra-text-s4").model).total);
  for (const char* name : {"lra-listops", "lra-text", "lra-image", "lra-pathfinder", "listops-small"})
    for (const char* kind : {"s4", "s4d"}) {
      const ModelOptions mega = load_preset(name).model;
      const auto ours = static_cast<double>(count_parameters(mega).total),
                 theirs = static_cast<double>(count_parameters(*baseline_of(mega, kind)).total);
      EXPECT_NEAR(theirs / ours, 1.0, 0.08) << name << ", " << kind << ": " << ours << " and " << theirs;
    }
  for (const char* kind : {"s4", "s4d"}) {
    const ModelOptions mega = load_preset("enwik8").model;
    const auto ours = static_cast<double>(count_parameters(mega).total),
               theirs = static_cast<double>(count_parameters(*baseline_of(mega, kind)).total);
    EXPECT_NEAR(theirs / ours, 1.0, 0.05) << kind;
  }
}

TEST(S4, OptionsThatDoNotFitAreErrors) {
  S4Options options = tiny_s4();
  options.release = S4Release::v1;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{options}); }), "bidirectional = false");
  options = tiny_s4();
  options.state = 5;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{options}); }), "even");
  S4DLanguageOptions language;
  language.bidirectional = true;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{language}); }), "must not see it");
}

// A, B and steps have a learning rate of their own and no weight decay; C, D and the rest do not.
TEST(S4, TheStateLearnsApart) {
  for (const ModelOptions& options : kinds())
    for (const TensorInfo& tensor : options.kind().tensors()) {
      const std::string last = tensor.name.substr(tensor.name.rfind('.') + 1);
      const bool state = tensor.name.find("kernel.") != std::string::npos && last != "C";
      EXPECT_EQ(tensor.decays, !state) << tensor.name;
      EXPECT_EQ(tensor.learning_rate, state ? 1e-3 : 0.0) << tensor.name;
    }
}

}  // namespace
}  // namespace mega::baselines
