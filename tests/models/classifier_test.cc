#include "mega/models/classifier.h"

#include <gtest/gtest.h>

#include "mega/ops/form.h"
#include "mega/text/tokens.h"
#include "mega/train/adamw.h"
#include "tests/base/helpers.h"
#include "tests/models/helpers.h"

namespace mega::models {
namespace {

using testing::contains;
using testing::difference;
using testing::error_of;
using testing::lengths;
using testing::random_tokens;
using testing::with_large_weights;
using torch::Tensor;

EncoderClassifierOptions tiny() {
  EncoderClassifierOptions options;
  options.vocabulary = 12;
  options.classes = 3;
  options.layers = 2;
  options.head = 10;
  options.block.width = 8;
  options.block.values = 12;
  options.block.shared = 6;
  options.block.hidden = 10;
  options.block.ema.dimension = 3;
  options.block.max_positions = 32;
  return options;
}

EncoderClassifierOptions tiny(InputKind input) {
  EncoderClassifierOptions options = tiny();
  options.input = input;
  return options;
}

TEST(Classifier, PaddingDoesNotChangeTheLogits) {
  torch::manual_seed(1);
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused})
    for (const AttentionFunction attention :
         {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace})
      for (const NormKind norm : {NormKind::layer, NormKind::scale, NormKind::rms, NormKind::batch})
        for (const bool prenorm : {false, true})
          for (const int64_t chunk : {-1, 1, 4, 7, 32}) {
            const ops::FormGuard guard(form);
            EncoderClassifierOptions options = tiny();
            options.block.attention = attention;
            options.block.norm = norm;
            options.block.prenorm = prenorm;
            options.block.chunk = chunk;
            auto model = with_large_weights(Classifier(ClassifierOptions{options}));
            const std::vector<int64_t> sizes = {5, 21, 1, 8};
            Tensor batch = random_tokens(4, 21);
            std::vector<Tensor> alone;
            for (int64_t i = 0; i < 4; ++i) {
              batch[i].slice(0, sizes[i]).fill_(kPad);
              alone.push_back(model->forward({batch.narrow(0, i, 1).slice(1, 0, sizes[i]), {}}));
            }
            const Tensor together = model->forward({batch, lengths(sizes)});
            EXPECT_LT(difference(torch::cat(alone), together), 2e-5)
                << to_string(attention) << ", " << to_string(norm) << ", prenorm " << prenorm << ", chunk "
                << chunk << (form == ops::Form::fused ? ", fused" : ", reference");
          }
}

TEST(Classifier, ValuesInThePaddingDoNotMatter) {
  torch::manual_seed(2);
  auto model = with_large_weights(Classifier(ClassifierOptions{tiny()}));
  const Tensor tokens = random_tokens(2, 9);
  Tensor other = tokens.clone();
  other[1].slice(0, 4) = random_tokens(1, 5)[0];
  EXPECT_LT(difference(model->forward({tokens, lengths({9, 4})}), model->forward({other, lengths({9, 4})})),
            1e-6);
}

TEST(Classifier, AnyLengthWorksWithAnyChunk) {
  torch::manual_seed(3);
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused})
    for (const int64_t chunk : {-1, 1, 2, 3, 5, 8, 32})
      for (const int64_t length : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31}) {
        const ops::FormGuard guard(form);
        SCOPED_TRACE("length " + std::to_string(length) + ", chunk " + std::to_string(chunk));
        EncoderClassifierOptions options = tiny();
        options.block.chunk = chunk;
        options.block.position = PositionKind::rotary;
        torch::manual_seed(4);
        auto model = with_large_weights(Classifier(ClassifierOptions{options}));
        const Tensor tokens = random_tokens(2, length);
        const Tensor logits = model->forward({tokens, {}});
        ASSERT_EQ(logits.sizes(), torch::IntArrayRef({2, 3}));
        logits.square().sum().backward();
        for (const auto& item : model->named_parameters())
          EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();

        // A chunk that covers the whole sequence equals no chunking.
        if (chunk < length) continue;
        options.block.chunk = -1;
        torch::manual_seed(4);
        auto full = with_large_weights(Classifier(ClassifierOptions{options}));
        EXPECT_LT(difference(full->forward({tokens, {}}), logits), 1e-5);
      }
}

TEST(Classifier, TakesPixelsAndSamples) {
  torch::manual_seed(5);
  for (const InputKind input : {InputKind::pixels, InputKind::samples}) {
    auto model = with_large_weights(Classifier(ClassifierOptions{tiny(input)}));
    const Tensor values = torch::randn({2, 13});
    const Tensor logits = model->forward({values, lengths({13, 6})});
    EXPECT_LT(difference(model->forward({values.narrow(0, 1, 1).slice(1, 0, 6), {}}), logits.narrow(0, 1, 1)),
              2e-5);
  }
}

TEST(Classifier, RejectsInvalidInputs) {
  Classifier model(ClassifierOptions{tiny()});
  const Tensor tokens = random_tokens(2, 6);
  const auto error = [&](const Tensor& values, const Tensor& sizes = {}) {
    return error_of([&] { model->forward({values, sizes}); });
  };
  EXPECT_PRED2(contains, error(tokens.masked_fill(tokens > 5, 12)), "token 12 is outside 0 to 11");
  EXPECT_PRED2(contains, error(tokens - 20), "is outside 0 to 11");
  EXPECT_PRED2(contains, error(tokens.to(torch::kInt32)), "tokens must be int64");
  EXPECT_PRED2(contains, error(tokens.to(torch::kFloat32)), "tokens must be int64");
  EXPECT_PRED2(contains, error(tokens[0]), "expected a batch of sequences (batch, length), got [6]");
  EXPECT_PRED2(contains, error(tokens.slice(1, 0, 0)), "expected a batch of sequences");
  EXPECT_PRED2(contains, error(Tensor()), "expected a batch of sequences");
  EXPECT_PRED2(contains, error(tokens, lengths({6, 7})), "each of 2 lengths must lie between 1 and 6");
  EXPECT_PRED2(contains, error(tokens, lengths({6, 0})), "each of 2 lengths must lie between 1 and 6");
  EXPECT_PRED2(contains, error(tokens, lengths({6})), "each of 2 lengths must lie between 1 and 6");
  EXPECT_PRED2(contains, error(tokens, torch::tensor({6.0, 4.5})), "int64");
  EXPECT_PRED2(contains, error(random_tokens(1, 33)), "supports 32 positions, the sequence has 33");

  model = Classifier(ClassifierOptions{tiny(InputKind::samples)});
  EXPECT_PRED2(contains, error(tokens), "expected real numbers");
  EXPECT_PRED2(contains, error(torch::randn({2, 6}, torch::kFloat64)), "expected real numbers");
  EXPECT_PRED2(contains, error(torch::full({2, 6}, NAN)), "NaN");
}

TEST(Matcher, NeedsPairs) {
  Matcher model(MatcherOptions{tiny()});
  EXPECT_EQ(model->forward({random_tokens(2, 5), {}}, {random_tokens(2, 9), {}}).sizes(),
            torch::IntArrayRef({2, 3}));
  const auto error = error_of([&] { model->forward({random_tokens(2, 5), {}}, {random_tokens(3, 5), {}}); });
  EXPECT_PRED2(contains, error, "2 first documents, 3 second ones");
  EXPECT_PRED2(contains, error_of([&] {
                 model->forward({random_tokens(2, 5), {}}, {});
               }),
               "expected a batch");
}

TEST(Classifier, SameSeedSameBits) {
  EncoderClassifierOptions options = tiny();
  options.block.dropout = options.block.attention_dropout = options.block.hidden_dropout = 0.2;
  options.block.activation_dropout = options.block.layer_dropout = 0.2;
  const auto run = [&](uint64_t seed) {
    torch::manual_seed(seed);
    Classifier model(ClassifierOptions{options});
    const Tensor logits = model->forward({random_tokens(3, 17), lengths({17, 3, 9})});
    logits.square().sum().backward();
    std::vector<Tensor> result = {logits.flatten()};
    for (const Tensor& parameter : model->parameters())
      if (parameter.grad().defined()) result.push_back(parameter.grad().flatten());
    return torch::cat(result);
  };
  const Tensor first = run(6);
  EXPECT_TRUE(first.equal(run(6)));
  EXPECT_FALSE(first.sizes() == run(7).sizes() && first.equal(run(7)));
}

// Does the sequence contain token 3? Lengths differ, so padding must be right too.
TEST(Classifier, LearnsAToyTask) {
  torch::manual_seed(7);
  EncoderClassifierOptions options = tiny();
  options.classes = 2;
  options.block.chunk = 8;
  options.block.attention = AttentionFunction::laplace;
  Classifier model(ClassifierOptions{options});
  TrainOptions training;
  train::AdamW optimizer(model->parameters(), training);
  const auto draw = [] {
    const Tensor sizes = torch::randint(4, 21, {32}, torch::kInt64);
    const Tensor padding = torch::arange(20).unsqueeze(0) >= sizes.unsqueeze(1);
    Tensor tokens = torch::randint(4, 12, {32, 20}, torch::kInt64);
    tokens.slice(0, 0, 16).scatter_(
        1, (torch::rand({16, 1}) * sizes.slice(0, 0, 16).unsqueeze(1)).to(torch::kInt64), 3);
    return Sequences{tokens.masked_fill(padding, kPad), sizes};
  };
  const Tensor target = torch::cat({torch::ones({16}, torch::kInt64), torch::zeros({16}, torch::kInt64)});
  for (int step = 0; step < 80; ++step) {
    optimizer.zero_gradients();
    torch::cross_entropy_loss(model->forward(draw()), target).backward();
    optimizer.step(1e-2);
  }
  model->eval();
  const torch::NoGradGuard guard;
  double right = 0.0;
  for (int i = 0; i < 8; ++i) right += (model->forward(draw()).argmax(1) == target).sum().item<double>();
  EXPECT_GT(right / 256, 0.9);
}

}  // namespace
}  // namespace mega::models
