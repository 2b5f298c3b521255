// Whole blocks: order of the parts, both forms with every dropout, streams, stochastic depth.
#include <gtest/gtest.h>

#include "mega/nn/mega_block.h"
#include "tests/nn/helpers.h"

namespace mega::nn {
namespace {

using namespace mega::testing;
using torch::Tensor;

MegaBlock make_block(const BlockOptions& options, bool cross = false) {
  torch::manual_seed(7);
  MegaBlock block(options, cross);
  scramble(*block);
  return block;
}

TEST(FeedForward, MatchesTheDefinition) {
  for (const bool prenorm : {false, true}) {
    BlockOptions options = small_block();
    options.prenorm = prenorm;
    FeedForward layer(options);
    scramble(*layer);
    const Tensor x = torch::randn({2, 5, 11});
    const Tensor input = prenorm ? layer->norm->forward(x) : x;
    const Tensor y = x + layer->fc2->forward(torch::silu(layer->fc1->forward(input)));
    expect_close(layer->forward(x), prenorm ? y : layer->norm->forward(y), 1e-5, "layer");
  }
  BlockOptions none = small_block();
  none.hidden = 0;
  EXPECT_PRED2(contains, error_of([&] { FeedForward layer(none); }), "hidden width above 0");
  EXPECT_PRED2(contains, error_of([] {
                 FeedForward(small_block())->forward(torch::randn({2, 5, 10}));
               }),
               "feed-forward: expected (batch, length, 11)");
}

// Where the output is dropped, only the residual remains, which is the input.
TEST(FeedForward, DropsAtItsRate) {
  for (const bool whole_channels : {false, true}) {
    BlockOptions options = small_block();
    options.prenorm = true;
    options.dropout = 0.3;
    options.feature_dropout = whole_channels;
    FeedForward layer(options);
    scramble(*layer);
    const Tensor x = torch::randn({60, 20, 11});
    const Tensor kept = layer->forward(x).ne(x);
    const double trials = whole_channels ? 60 * 11 : 60 * 20 * 11;
    EXPECT_NEAR(kept.to(torch::kFloat64).mean().item<double>(), 0.7, 4 * std::sqrt(0.3 * 0.7 / trials));
    EXPECT_EQ(kept.eq(kept.narrow(1, 0, 1)).all().item<bool>(), whole_channels);
    layer->eval();
    EXPECT_TRUE(layer->forward(x).ne(x).all().item<bool>());
    EXPECT_TRUE(layer->forward(x).equal(layer->forward(x)));
  }
}

// Inside as well: a sequence that repeats one position stays constant as long as whole channels are dropped.
TEST(FeedForward, DropsHiddenChannels) {
  for (const bool whole_channels : {false, true}) {
    BlockOptions options = small_block();
    options.activation_dropout = 0.4;
    options.feature_dropout = whole_channels;
    FeedForward layer(options);
    scramble(*layer);
    const Tensor y = layer->forward(torch::randn({2, 1, 11}).repeat({1, 20, 1}));
    EXPECT_EQ(distance(y, y.narrow(1, 0, 1).expand_as(y)) < 1e-6, whole_channels);
  }
}

TEST(MegaBlock, RunsItsPartsInOrder) {
  BlockOptions options = small_block();
  const Tensor x = torch::randn({2, 7, 11}), source = torch::randn({2, 5, 11});
  const Tensor mask = torch::rand({2, 7}) < 0.3, source_mask = torch::rand({2, 5}) < 0.3;

  MegaBlock encoder = make_block(options), decoder = make_block(options, true);
  EXPECT_TRUE(encoder->cross_attn.is_empty());
  EXPECT_TRUE(encoder->forward(x, mask).equal(encoder->nffn->forward(encoder->mega_layer->forward(x, mask))));
  const Tensor attended =
      decoder->cross_attn->forward(decoder->mega_layer->forward(x, mask), source, source_mask);
  EXPECT_TRUE(decoder->forward(x, mask, source, source_mask).equal(decoder->nffn->forward(attended)));
  EXPECT_PRED2(contains, error_of([&] { decoder->forward(x, mask); }), "needs a source");

  options.hidden = 0;
  MegaBlock bare = make_block(options);
  EXPECT_TRUE(bare->nffn.is_empty());
  EXPECT_TRUE(bare->forward(x, mask).equal(bare->mega_layer->forward(x, mask)));
}

TEST(MegaBlock, FormsAgree) {
  int variant = 0;
  for (const auto norm : {NormKind::layer, NormKind::scale, NormKind::rms, NormKind::batch}) {
    for (const auto function : kFunctions) {
      for (const bool prenorm : {false, true}) {
        BlockOptions options = small_block();
        options.norm = norm;
        options.attention = function;
        options.prenorm = prenorm;
        options.chunk = variant % 2 ? 8 : -1;
        options.affine = variant % 3;
        options.feature_dropout = variant % 5 == 0;
        options.dropout = options.attention_dropout = options.hidden_dropout = options.activation_dropout =
            0.1;
        SCOPED_TRACE(::testing::Message()
                     << to_string(norm) << " " << to_string(function) << " variant " << variant);
        MegaBlock block = make_block(options, variant % 2);
        const Tensor source = torch::randn({2, 9, 11}), mask = torch::rand({2, 27}) < 0.2;
        compare_module_forms(*block, torch::randn({2, 27, 11}), [&](const Tensor& x) {
          return block->forward(x, mask, source.to(x.scalar_type()), {});
        });
        ++variant;
      }
    }
  }
}

TEST(MegaBlock, StreamsEqualTheWhole) {
  const torch::NoGradGuard no_grad;
  std::mt19937 random(2);
  for (const auto norm : {NormKind::layer, NormKind::scale, NormKind::rms, NormKind::batch}) {
    for (const bool prenorm : {false, true}) {
      BlockOptions options = small_causal_block();
      options.norm = norm;
      options.prenorm = prenorm;
      options.chunk = 8;
      options.position = PositionKind::rotary;
      MegaBlock block = make_block(options, true);
      block->eval();
      const Tensor x = torch::randn({2, 60, 11}), source = torch::randn({2, 6, 11}),
                   mask = torch::rand({2, 60}) < 0.2;
      const Tensor whole = unpadded(block->forward(x, mask, source, {}), mask);
      for (const auto& cuts : {random_cuts(60, 20, random), std::vector<int64_t>(60, 1)}) {
        BlockState state;
        const Tensor y = in_segments(x, mask, cuts, [&](const Tensor& part, const Tensor& m) {
          return block->forward(part, m, source, {}, &state);
        });
        expect_close(unpadded(y, mask), whole, 1e-5, "stream");
      }
    }
  }
}

// Stochastic depth: at rate 1 the block is skipped in training, and only in training.
TEST(MegaBlock, StochasticDepth) {
  BlockOptions options = small_block();
  options.layer_dropout = 1.0;
  MegaBlock block = make_block(options);
  const Tensor x = torch::randn({2, 7, 11});
  EXPECT_TRUE(block->forward(x).equal(x));
  block->eval();
  EXPECT_FALSE(block->forward(x).equal(x));

  options.layer_dropout = 0.3;
  MegaBlock now_and_then = make_block(options);
  int skipped = 0;
  for (int i = 0; i < 400; ++i) skipped += now_and_then->forward(x).equal(x);
  EXPECT_NEAR(skipped / 400.0, 0.3, 4 * std::sqrt(0.3 * 0.7 / 400));
}

}  // namespace
}  // namespace mega::nn
