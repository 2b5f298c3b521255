#include <gtest/gtest.h>

#include "mega/nn/adaptive_embedding.h"
#include "mega/nn/adaptive_softmax.h"
#include "mega/text/tokens.h"

namespace mega::nn {
namespace {

using torch::Tensor;

constexpr int64_t kVocabulary = 30, kWidth = 16;

std::vector<Band> bands() { return make_bands({8, 20}, kVocabulary, kWidth, 4); }

TEST(Bands, EachIsNarrowerThanTheOneBefore) {
  const std::vector<Band> all = bands();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].width, 16);
  EXPECT_EQ(all[1].width, 4);
  EXPECT_EQ(all[2].width, 1);
  EXPECT_EQ(all[1].begin, 8);
  EXPECT_EQ(all[2].end, kVocabulary);
}

TEST(AdaptiveEmbedding, ProjectsTheEmbeddingOfEachBand) {
  torch::manual_seed(1);
  AdaptiveEmbedding embedding(bands(), kWidth);
  const Tensor tokens = torch::tensor({{3L, 8L, 29L}, {19L, 1L, 20L}});
  const Tensor y = embedding->forward(tokens);
  ASSERT_EQ(y.sizes(), c10::IntArrayRef({2, 3, kWidth}));
  const auto expected = [&](size_t band, int64_t row) {
    return torch::mv(embedding->projections[band], embedding->embeddings[band][row]);
  };
  EXPECT_TRUE(torch::allclose(y[0][0], expected(0, 3)));
  EXPECT_TRUE(torch::allclose(y[0][1], expected(1, 0)));
  EXPECT_TRUE(torch::allclose(y[0][2], expected(2, 9)));
  EXPECT_TRUE(torch::allclose(y[1][0], expected(1, 11)));
  EXPECT_EQ(y[1][1].abs().max().item<float>(), 0.0F) << "padding";

  y.sum().backward();
  EXPECT_EQ(embedding->embeddings[0].grad()[kPad].abs().max().item<float>(), 0.0F)
      << "padding gets no gradient from lookups";
  EXPECT_GT(embedding->embeddings[1].grad()[0].abs().max().item<float>(), 0.0F);
}

class AdaptiveSoftmaxTest : public ::testing::TestWithParam<bool> {
 protected:
  AdaptiveSoftmaxTest() {
    torch::manual_seed(2);
    embedding_ = AdaptiveEmbedding(bands(), kWidth);
    AdaptiveSoftmaxOptions options;
    options.tie_projections = GetParam();
    softmax_ = AdaptiveSoftmax(embedding_, kWidth, options);
    softmax_->eval();
  }

  AdaptiveEmbedding embedding_{nullptr};
  AdaptiveSoftmax softmax_{nullptr};
};

TEST_P(AdaptiveSoftmaxTest, ProbabilitiesSumToOneAndGiveTheLosses) {
  const Tensor x = torch::randn({kVocabulary, kWidth}), targets = torch::randperm(kVocabulary, torch::kInt64);
  const Tensor all = softmax_->log_probabilities(x);
  EXPECT_TRUE(torch::allclose(all.exp().sum(1), torch::ones(kVocabulary)));
  EXPECT_TRUE(torch::allclose(softmax_->losses(x, targets), -all.gather(1, targets.unsqueeze(1)).squeeze(1),
                              1e-5, 1e-5));
}

TEST_P(AdaptiveSoftmaxTest, EveryParameterHasAGradient) {
  softmax_->losses(torch::randn({kVocabulary, kWidth}), torch::arange(kVocabulary)).sum().backward();
  for (const Tensor& weight : softmax_->parameters())
    EXPECT_GT(weight.grad().abs().max().item<float>(), 0.0F);
  for (const Tensor& weight : embedding_->embeddings)
    EXPECT_GT(weight.grad().abs().max().item<float>(), 0.0F);
  for (size_t band = 1; band < 3; ++band)
    EXPECT_EQ(embedding_->projections[band].grad().defined(), GetParam()) << band;
}

INSTANTIATE_TEST_SUITE_P(Projections, AdaptiveSoftmaxTest, ::testing::Bool());

TEST(AdaptiveSoftmax, ReleasedLossDropsTheTailTermOfTokenOneInTraining) {
  torch::manual_seed(3);
  const AdaptiveEmbedding embedding(bands(), kWidth);
  AdaptiveSoftmaxOptions options;
  options.released_loss = true;
  AdaptiveSoftmax softmax(embedding, kWidth, options);
  const Tensor x = torch::randn({3, kWidth}), targets = torch::tensor({9L, 21L, 10L});
  softmax->eval();
  const Tensor honest = softmax->losses(x, targets);
  softmax->train();
  const Tensor released = softmax->losses(x, targets);
  EXPECT_LT(released[0].item<float>(), honest[0].item<float>() - 0.1F);
  EXPECT_LT(released[1].item<float>(), honest[1].item<float>() - 0.1F);
  EXPECT_NEAR(released[2].item<float>(), honest[2].item<float>(), 1e-5);
}

TEST(AdaptiveSoftmax, ABandWithoutTargetsCostsNothing) {
  const AdaptiveEmbedding embedding(bands(), kWidth);
  AdaptiveSoftmax softmax(embedding, kWidth, AdaptiveSoftmaxOptions{});
  softmax->losses(torch::randn({2, kWidth}), torch::tensor({2L, 5L})).sum().backward();
  EXPECT_FALSE(embedding->embeddings[2].grad().defined());
}

}  // namespace
}  // namespace mega::nn
