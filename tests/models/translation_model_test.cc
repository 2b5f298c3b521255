// Both kinds of translators: masks, causality, streams, gradients, losses, and what a file holds of them.
#include "mega/models/translation_model.h"

#include <gtest/gtest.h>

#include "mega/config/files/model_file.h"
#include "mega/ops/form.h"
#include "mega/train/saved_model.h"
#include "tests/base/helpers.h"
#include "tests/compare.h"
#include "tests/models/translation_helpers.h"

namespace mega::models {
namespace {

using testing::contains;
using testing::difference;
using testing::error_of;
using testing::make_translation;
using testing::random_tokens;
using testing::some_translators;
using testing::tiny_translator;
using torch::Tensor;

constexpr double kTolerance = 2e-5;

// tokens (B, L) with `counts[b]` positions of padding at the end of row b, and their mask.
struct Padded {
  Tensor tokens, mask;
};
Padded padded_at_end(const Tensor& tokens, const std::vector<int64_t>& counts) {
  Tensor padded = tokens.clone();
  for (size_t b = 0; b < counts.size(); ++b)
    if (counts[b] > 0)
      padded[static_cast<int64_t>(b)].narrow(0, tokens.size(1) - counts[b], counts[b]).fill_(1);
  return {padded, padded == 1};
}

TEST(TranslationModel, PaddingChangesNoOtherRowAndNoOtherPosition) {
  const torch::NoGradGuard guard;
  for (const auto& [name, options] : some_translators()) {
    SCOPED_TRACE(name);
    const auto model = make_translation(options);
    const std::vector<int64_t> cut = {0, 4, 8}, cut_target = {3, 0, 6};
    const Padded source = padded_at_end(random_tokens(3, 11), cut),
                 target = padded_at_end(random_tokens(3, 9), cut_target);
    const nn::Source encoded = model->encode(source.tokens, source.mask);
    const Tensor all = model->features(target.tokens, target.mask, encoded);
    for (int64_t b = 0; b < 3; ++b) {
      const int64_t read = 11 - cut[static_cast<size_t>(b)], written = 9 - cut_target[static_cast<size_t>(b)];
      const nn::Source alone = model->encode(source.tokens[b].narrow(0, 0, read).unsqueeze(0));
      const Tensor features = model->features(target.tokens[b].narrow(0, 0, written).unsqueeze(0), {}, alone);
      EXPECT_LT(difference(encoded.encoded[b].narrow(0, 0, read), alone.encoded[0]), kTolerance);
      EXPECT_LT(difference(all[b].narrow(0, 0, written), features[0]), kTolerance);
    }
  }
}

TEST(TranslationModel, TheDecoderSeesThePastAndAllOfTheSource) {
  const torch::NoGradGuard guard;
  for (const auto& [name, options] : some_translators()) {
    SCOPED_TRACE(name);
    const auto model = make_translation(options);
    const Tensor source = random_tokens(2, 13), target = random_tokens(2, 12), other = target.clone();
    other.narrow(1, 7, 5).copy_((target.narrow(1, 7, 5) - 1) % 10 + 2);  // other tokens everywhere
    const nn::Source encoded = model->encode(source);
    const Tensor a = model->features(target, {}, encoded), b = model->features(other, {}, encoded);
    EXPECT_LT(difference(a.narrow(1, 0, 7), b.narrow(1, 0, 7)), 1e-6);
    EXPECT_GT(difference(a.select(1, 7), b.select(1, 7)), 1e-3);
    for (const int64_t changed : {0, 12}) {
      Tensor elsewhere = source.clone();
      elsewhere.select(1, changed).copy_((source.select(1, changed) - 1) % 10 + 2);
      const Tensor c = model->features(target, {}, model->encode(elsewhere));
      EXPECT_GT(difference(a.select(1, 0), c.select(1, 0)), 1e-5) << changed;
    }
  }
}

TEST(TranslationModel, StreamsEqualTheParallelPass) {
  const torch::NoGradGuard guard;
  for (const auto& [name, options] : some_translators()) {
    const auto model = make_translation(options);
    const Padded source = padded_at_end(random_tokens(2, 10), {0, 6});
    const Tensor target = random_tokens(2, 17);
    const nn::Source encoded = model->encode(source.tokens, source.mask);
    const Tensor whole = model->features(target, {}, encoded);
    for (const int64_t piece : {1, 4, 5, 16}) {
      SCOPED_TRACE(name + ", in pieces of " + std::to_string(piece));
      nn::State state;
      std::vector<Tensor> outputs;
      for (int64_t begin = 0; begin < 17; begin += piece) {
        const Tensor tokens = target.narrow(1, begin, std::min<int64_t>(piece, 17 - begin));
        // Only the first call needs the source.
        outputs.push_back(model->features(tokens, {}, begin == 0 ? encoded : nn::Source(), &state));
      }
      EXPECT_LT(difference(torch::cat(outputs, 1), whole), kTolerance);
    }
  }
}

TEST(TranslationModel, GradientsReachEveryParameterInBothForms) {
  for (auto [name, options] : some_translators()) {
    SCOPED_TRACE(name);
    AttentionFunction function = AttentionFunction::softmax;
    if (auto* mega = std::get_if<TranslatorOptions>(&options.model)) {
      function = mega->block.attention;
      mega->block.dropout = mega->block.attention_dropout = 0.2;
      mega->block.hidden_dropout = mega->block.activation_dropout = 0.2;
    }
    const auto model = make_translation(options);
    model->train();
    const Padded source = padded_at_end(random_tokens(3, 11), {0, 4, 8}),
                 target = padded_at_end(random_tokens(3, 9), {3, 0, 6});
    const Tensor real = (target.tokens.flatten() != 1).nonzero().squeeze(1);
    std::vector<Tensor> gradients;
    for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
      const ops::FormGuard guard(form);
      model->zero_grad();
      torch::manual_seed(8);  // the same dropout
      const nn::Source encoded = model->encode(source.tokens, source.mask);
      const Tensor features = model->features(target.tokens, target.mask, encoded).flatten(0, 1);
      model->losses(features.index_select(0, real), target.tokens.flatten().index_select(0, real), 0.1)
          .mean()
          .backward();
      std::vector<Tensor> all;
      for (const auto& item : model->named_parameters()) {
        const Tensor& gradient = item.value().grad();
        const bool no_effect = function == AttentionFunction::softmax && item.key().ends_with("k_proj.bias");
        if (no_effect) continue;
        ASSERT_TRUE(gradient.defined()) << item.key();
        EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << item.key();
        const bool may_be_zero = function == AttentionFunction::relu2;  // which may attend to nothing
        EXPECT_TRUE(may_be_zero || gradient.abs().max().item<double>() > 0.0) << item.key();
        all.push_back(gradient.flatten());
      }
      gradients.push_back(torch::cat(all).clone());
    }
    EXPECT_LT(testing::distance(gradients[1], gradients[0]), 1e-4);
  }
}

TEST(TranslationModel, LossesMatchTheProbabilities) {
  const torch::NoGradGuard guard;
  for (const auto& [name, options] : some_translators()) {
    const auto model = make_translation(options);
    const Tensor features =
        model->features(random_tokens(2, 7), {}, model->encode(random_tokens(2, 5))).flatten(0, 1);
    const Tensor targets = random_tokens(2, 7).flatten(), log_p = model->log_probabilities(features);
    ASSERT_EQ(log_p.sizes(), torch::IntArrayRef({14, 12})) << name;
    EXPECT_EQ(model->vocabulary(), 12);
    EXPECT_LT(difference(log_p.exp().sum(1), torch::ones({14})), 1e-5) << name;
    const Tensor own = -log_p.gather(1, targets.unsqueeze(1)).squeeze(1);
    EXPECT_LT(difference(model->losses(features, targets), own), 1e-4) << name;
    EXPECT_LT(difference(model->losses(features, targets, 0.1), 0.9 * own - 0.1 * log_p.mean(1)), 1e-4)
        << name;
  }
}

TEST(TranslationModel, AFileHoldsSharedEmbeddingsOnce) {
  const testing::ScratchFolder folder;
  for (const auto& [name, options] : some_translators()) {
    SCOPED_TRACE(name);
    const auto model = make_translation(options);
    const ops::TensorViews views(train::weights_of(*model));
    write_model_file(folder / "model.safetensors", options, views.views());
    const ModelFile file = ModelFile::open(folder / "model.safetensors");
    EXPECT_NO_THROW(check_tensors(file.options, file.tensors));
    const TranslationOptions& translation = *translation_options(file.options);
    EXPECT_NE(file.tensors.find("encoder.embed_tokens.weight"), nullptr);
    EXPECT_EQ(file.tensors.find("decoder.embed_tokens.weight") == nullptr, translation.share_embeddings);
    EXPECT_EQ(file.tensors.find("decoder.output_projection.weight") == nullptr, translation.tie_output);

    torch::manual_seed(2);
    const auto again = baselines::make_translation_model(file.options);
    train::load_weights(*again, file.tensors);
    again->eval();
    const Tensor source = random_tokens(2, 5), target = random_tokens(2, 4);
    EXPECT_TRUE(again->features(target, {}, again->encode(source))
                    .equal(model->features(target, {}, model->encode(source))));
  }
}

TEST(TranslationModel, SharedEmbeddingsTrainTogether) {
  const auto model = make_translation({tiny_translator()});
  EXPECT_EQ(model->named_parameters().find("decoder.embed_tokens.weight"), nullptr);
  // Token 4 is only in the target, token 5 only in the source.
  const nn::Source encoded = model->encode(torch::full({1, 3}, 5, torch::kInt64));
  model->features(torch::full({1, 3}, 4, torch::kInt64), {}, encoded).pow(3).sum().backward();
  const Tensor gradient = model->named_parameters()["encoder.embed_tokens.weight"].grad().abs().sum(1);
  EXPECT_GT(gradient[4].item<double>(), 0.0);
  EXPECT_GT(gradient[5].item<double>(), 0.0);
  EXPECT_EQ(gradient[6].item<double>(), 0.0);
}

TEST(TranslationModel, AFailedCallLeavesTheStateUnchanged) {
  for (const auto& [name, options] : some_translators()) {
    const auto model = make_translation(options);
    const nn::Source encoded = model->encode(random_tokens(1, 5));
    nn::State state;
    model->features(random_tokens(1, 3), {}, encoded, &state);
    const int64_t position = state.blocks[1].attention.position;
    EXPECT_FALSE(error_of([&] { model->features(random_tokens(2, 3), {}, encoded, &state); }).empty());
    EXPECT_EQ(state.blocks[1].attention.position, position) << name;
  }
}

TEST(TranslationModel, RejectsInvalidInputs) {
  for (const auto& [name, options] : some_translators()) {
    SCOPED_TRACE(name);
    const auto model = make_translation(options);
    const nn::Source encoded = model->encode(random_tokens(2, 5));
    const Tensor target = random_tokens(2, 4);
    const auto error = [&](const auto& call) { return error_of([&] { call(); }); };
    EXPECT_PRED2(contains, error([&] {
                   model->encode(torch::full({1, 3}, 14, torch::kInt64));
                 }),
                 "outside 0");
    EXPECT_PRED2(contains, error([&] { model->encode(target, torch::zeros({2, 3}, torch::kBool)); }), "mask");
    EXPECT_PRED2(contains, error([&] {
                   model->features(torch::full({2, 3}, 12, torch::kInt64), {}, encoded);
                 }),
                 "outside 0 to 11");
    EXPECT_PRED2(contains, error([&] { model->features(target, {}, {}); }), "source");
    EXPECT_FALSE(error([&] { model->features(random_tokens(3, 4), {}, encoded); }).empty());
    nn::State state;
    state.blocks.resize(3);
    EXPECT_PRED2(contains, error([&] { model->features(target, {}, encoded, &state); }), "3 blocks");
  }
}

TEST(TranslationModel, LimitedPositionsSaySo) {
  const auto model = make_translation({tiny_translator()});
  EXPECT_EQ(model->max_length(), 40);
  EXPECT_NO_THROW(model->encode(random_tokens(1, 40)));
  EXPECT_PRED2(contains, error_of([&] { model->encode(random_tokens(1, 41)); }), "40");
}

}  // namespace
}  // namespace mega::models
