#include "mega/baselines/transformer.h"

#include <gtest/gtest.h>

#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/form.h"
#include "mega/train/adamw.h"
#include "tests/base/helpers.h"
#include "tests/baselines/classifiers.h"
#include "tests/models/helpers.h"

namespace mega::baselines {
namespace {

using models::Sequences;
using testing::contains;
using testing::difference;
using testing::error_of;
using testing::lengths;
using testing::random_tokens;
using testing::with_large_weights;
using torch::Tensor;

TransformerOptions tiny() {
  TransformerOptions options;
  options.vocabulary = 12;
  options.classes = 3;
  options.layers = 2;
  options.head = 10;
  options.width = 8;
  options.hidden = 10;
  options.heads = 2;
  options.dropout = 0.0;
  return options;
}

TEST(Transformer, PaddingDoesNotChangeTheLogits) {
  torch::manual_seed(1);
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused})
    for (const Pooling pooling : {Pooling::mean, Pooling::cls})
      for (const InputKind input : {InputKind::tokens, InputKind::pixels}) {
        const ops::FormGuard guard(form);
        TransformerOptions options = tiny();
        options.pooling = pooling;
        options.input = input;
        Transformer model = with_large_weights(Transformer(options));
        const std::vector<int64_t> sizes = {5, 21, 1, 8};
        const Tensor batch = input == InputKind::tokens ? random_tokens(4, 21) : torch::randn({4, 21});
        std::vector<Tensor> alone;
        for (int64_t i = 0; i < 4; ++i)
          alone.push_back(model->predict({{batch.narrow(0, i, 1).slice(1, 0, sizes[i]), {}}}));
        EXPECT_LT(difference(torch::cat(alone), model->predict({{batch, lengths(sizes)}})), 2e-5)
            << to_string(pooling) << ", " << to_string(input)
            << (form == ops::Form::fused ? ", fused" : ", reference");
      }
}

TEST(Transformer, TheOrderOfABatchDoesNotMatter) {
  torch::manual_seed(2);
  Transformer model = with_large_weights(Transformer(tiny()));
  const Tensor tokens = random_tokens(5, 17), sizes = lengths({17, 3, 9, 1, 12});
  const Tensor order = lengths({3, 0, 4, 2, 1});
  const Tensor logits = model->predict({{tokens, sizes}});
  const Tensor shuffled = model->predict({{tokens.index_select(0, order), sizes.index_select(0, order)}});
  EXPECT_LT(difference(logits.index_select(0, order), shuffled), 1e-5);
}

// Alternates longer and shorter sequences: the table of positions is sliced and grown.
TEST(Transformer, AnyLengthWorksInBothForms) {
  torch::manual_seed(3);
  Transformer model = with_large_weights(Transformer(tiny()));
  const torch::NoGradGuard no_gradients;
  for (int64_t i = 1; i <= 300; ++i) {
    const int64_t length = i % 2 == 0 ? i : 301 - i;
    const Tensor tokens = random_tokens(2, length);
    const auto run = [&](ops::Form form) {
      const ops::FormGuard guard(form);
      return model->predict({{tokens, lengths({length, (length + 1) / 2})}});
    };
    const Tensor fused = run(ops::Form::fused);
    ASSERT_EQ(fused.sizes(), torch::IntArrayRef({2, 3}));
    ASSERT_LT(difference(fused, run(ops::Form::reference)), 5e-5) << "length " << length;
  }
}

TEST(Transformer, DependsOnTheOrderOfTokens) {
  torch::manual_seed(4);
  Transformer model = with_large_weights(Transformer(tiny()));
  const Tensor tokens = random_tokens(1, 9);
  EXPECT_GT(difference(model->predict({{tokens, {}}}), model->predict({{tokens.flip(1), {}}})), 1e-3);
}

TEST(Transformer, DropoutIsTheSameInBothForms) {
  TransformerOptions options = tiny();
  options.dropout = options.attention_dropout = options.activation_dropout = 0.3;
  torch::manual_seed(5);
  Transformer model = with_large_weights(Transformer(options));
  model->train();
  const Tensor tokens = random_tokens(3, 40);
  const auto run = [&](ops::Form form) {
    const ops::FormGuard guard(form);
    torch::manual_seed(6);
    return model->predict({{tokens, lengths({40, 7, 33})}});
  };
  const Tensor fused = run(ops::Form::fused);
  EXPECT_LT(difference(fused, run(ops::Form::reference)), 5e-5);
  model->eval();
  EXPECT_GT(difference(fused, run(ops::Form::fused)), 1e-3);
}

TEST(Transformer, ComparesTwoDocuments) {
  torch::manual_seed(7);
  TransformerOptions options = tiny();
  options.documents = 2;
  Transformer model = with_large_weights(Transformer(options));
  const Sequences first{random_tokens(2, 5), {}}, second{random_tokens(2, 9), lengths({9, 4})};
  const Tensor logits = model->predict({first, second});
  EXPECT_EQ(logits.sizes(), torch::IntArrayRef({2, 3}));
  EXPECT_GT(difference(logits, model->predict({second, first})), 1e-3) << "the order should matter";

  // The head reads the second document first.
  auto parameters = model->named_parameters();
  const Tensor both = torch::cat({model->encode(second), model->encode(first)}, 1);
  const Tensor hidden =
      torch::linear(both, parameters["classifier.0.0.weight"], parameters["classifier.0.0.bias"]);
  const Tensor expected = torch::linear(torch::gelu(hidden), parameters["sentence_projection_layer.weight"]);
  EXPECT_LT(difference(logits, expected), 1e-5);

  EXPECT_PRED2(contains, error_of([&] { model->predict({first}); }), "reads two documents, not 1");
  EXPECT_PRED2(contains, error_of([&] {
                 model->predict({first, {random_tokens(3, 5), {}}});
               }),
               "2 first documents, 3 second ones");
  EXPECT_PRED2(contains, error_of([&] {
                 Transformer(tiny())->predict({first, second});
               }),
               "reads one document, not 2");
}

TEST(Transformer, GradientsReachEveryParameter) {
  torch::manual_seed(8);
  for (const InputKind input : {InputKind::tokens, InputKind::series})
    for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
      const ops::FormGuard guard(form);
      TransformerOptions options = tiny();
      options.input = input;
      if (input == InputKind::series) options.channels = 3;
      options.dropout = options.attention_dropout = options.activation_dropout = 0.1;
      Transformer model = with_large_weights(Transformer(options));
      model->train();
      const Tensor values = input == InputKind::tokens ? random_tokens(3, 11) : torch::randn({3, 11, 3});
      model->predict({{values, lengths({11, 2, 6})}}).square().sum().backward();
      for (const auto& item : model->named_parameters()) {
        const Tensor& gradient = item.value().grad();
        if (item.key().ends_with("k_proj.bias")) {  // no effect under softmax
          EXPECT_FALSE(gradient.defined()) << item.key();
          continue;
        }
        ASSERT_TRUE(gradient.defined()) << item.key();
        EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << item.key();
        EXPECT_GT(gradient.abs().max().item<double>(), 0.0) << item.key();
      }
    }
}

TEST(Transformer, GradientsOfAttentionAreRight) { testing::expect_right_gradients({tiny()}, ".self_attn."); }

TEST(Transformer, InitialisedLikeBert) {
  TransformerOptions options;
  options.layers = 1;
  torch::manual_seed(9);
  Transformer model(options);
  for (const auto& item : model->named_parameters()) {
    if (!item.key().starts_with("encoder.")) continue;
    SCOPED_TRACE(item.key());
    const bool norm = item.key().find("norm.weight") != std::string::npos;
    if (item.value().dim() == 1)
      EXPECT_TRUE((item.value() == (norm ? 1 : 0)).all().item<bool>());
    else
      EXPECT_NEAR(item.value().std().item<double>(), 0.02, 0.0005);
  }
}

TEST(Transformer, RejectsInvalidInputs) {
  Transformer model(tiny());
  const auto error = [&](const Tensor& values, const Tensor& sizes = {}) {
    return error_of([&] { model->predict({{values, sizes}}); });
  };
  EXPECT_PRED2(contains, error(torch::full({2, 6}, 12, torch::kInt64)), "token 12 is outside 0 to 11");
  EXPECT_PRED2(contains, error(torch::randn({2, 6})), "tokens must be int64");
  EXPECT_PRED2(contains, error(random_tokens(2, 6)[0]), "expected a batch of sequences (batch, length)");
  EXPECT_PRED2(contains, error(random_tokens(2, 6), lengths({6, 7})), "each of 2 lengths must lie between");
  TransformerOptions options = tiny();
  options.input = InputKind::samples;
  model = Transformer(options);
  EXPECT_PRED2(contains, error(torch::full({2, 6}, NAN)), "NaN");
}

// Which of two marked tokens comes first? This needs positions and attention.
TEST(Transformer, LearnsAToyTask) {
  torch::manual_seed(10);
  TransformerOptions options = tiny();
  options.classes = 2;
  options.width = 16;
  options.hidden = 32;
  Transformer model(options);
  train::AdamW optimizer(model->parameters(), TrainOptions());
  Tensor target;
  const auto draw = [&] {
    Tensor tokens = torch::randint(5, 12, {32, 12}, torch::kInt64);
    target = torch::randint(2, {32}, torch::kInt64);
    const Tensor early = torch::randint(0, 6, {32, 1}, torch::kInt64);
    const Tensor late = torch::randint(6, 12, {32, 1}, torch::kInt64);
    tokens.scatter_(1, early, 3 + target.unsqueeze(1));
    tokens.scatter_(1, late, 4 - target.unsqueeze(1));
    return std::vector<Sequences>{{tokens, {}}};
  };
  for (int step = 0; step < 150; ++step) {
    optimizer.zero_gradients();
    const auto batch = draw();
    torch::cross_entropy_loss(model->predict(batch), target).backward();
    optimizer.step(5e-3);
  }
  model->eval();
  const torch::NoGradGuard guard;
  double right = 0.0;
  for (int i = 0; i < 8; ++i) {
    const auto batch = draw();
    right += (model->predict(batch).argmax(1) == target).sum().item<double>();
  }
  EXPECT_GT(right / 256, 0.9);
}

}  // namespace
}  // namespace mega::baselines
