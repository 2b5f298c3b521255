// Megalodon's complex moving average against its recurrence: directions, padding, streams, both forms.
#include <gtest/gtest.h>

#include <cmath>

#include "mega/nn/ema.h"
#include "mega/nn/gated_attention.h"
#include "mega/nn/state.h"
#include "mega/ops/form.h"
#include "tests/base/helpers.h"

namespace mega::nn {
namespace {

using testing::contains;
using testing::error_of;
using torch::Tensor;

double distance(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

EmaOptions complex(bool bidirectional) {
  EmaOptions options;
  options.kind = EmaKind::complex;
  options.dimension = 4;
  options.bidirectional = bidirectional;
  options.activated = false;
  return options;
}

// The sums of one direction, step by step, in complex numbers.
Tensor by_steps(const Ema& ema, const Tensor& x, int64_t first_row) {
  const ops::DiagonalSystem all = ema->complex_coefficients();
  const auto rows = [&](const Tensor& t) { return t.narrow(0, first_row, x.size(2)); };
  const Tensor q = torch::polar(rows(all.decay).exp(), rows(all.phase)),
               b = torch::view_as_complex(rows(all.input).contiguous()),
               c = torch::view_as_complex(rows(all.output).contiguous());
  Tensor h = torch::zeros_like(q).unsqueeze(0);
  std::vector<Tensor> y;
  for (int64_t t = 0; t < x.size(1); ++t) {
    h = q * h + b * x.select(1, t).unsqueeze(-1);
    y.push_back(torch::real((c * h).sum(-1)));
  }
  return torch::stack(y, 1);
}

TEST(ComplexEma, IsItsRecurrence) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  const Tensor mask = torch::rand({2, 90}) < 0.2;
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused})
    for (const bool bidirectional : {false, true})
      for (const bool shift : {false, true}) {
        const ops::FormGuard guard(form);
        EmaOptions options = complex(bidirectional);
        options.shift = shift;
        Ema ema(5, options);
        const Tensor x = torch::randn({2, 90, 5}), seen = x.masked_fill(mask.unsqueeze(-1), 0.0);
        Tensor expected = by_steps(ema, seen, 0) + ema->omega * x;
        if (bidirectional) {
          Tensor ahead = by_steps(ema, seen.flip(1), 5).flip(1);
          if (shift) ahead = torch::constant_pad_nd(ahead.narrow(1, 1, 89), {0, 0, 0, 1});
          expected = expected + ahead;
        }
        EXPECT_LT(distance(ema->forward(x, mask), expected), 2e-5);
      }
}

TEST(ComplexEma, StreamsEqualTheWhole) {
  torch::manual_seed(2);
  const torch::NoGradGuard no_grad;
  Ema ema(5, complex(false));
  const Tensor x = torch::randn({2, 150, 5}), whole = ema->forward(x);
  for (const int64_t size : {1, 7, 64, 150}) {
    Tensor state = ema->initial_state(2);
    std::vector<Tensor> pieces;
    for (int64_t at = 0; at < 150; at += size)
      pieces.push_back(ema->forward(x.narrow(1, at, std::min(size, 150 - at)), {}, &state));
    EXPECT_LT(distance(torch::cat(pieces, 1), whole), 1e-5) << size;
    EXPECT_EQ(state.sizes(), torch::IntArrayRef({2, 5, 8}));
  }
}

// As released: turns from almost a whole one to 1/D, real projections, a small skip.
TEST(ComplexEma, Initialisation) {
  torch::manual_seed(3);
  Ema ema(64, complex(false));
  const Tensor turns = std::get<0>(torch::sigmoid(ema->theta.detach()).flatten().sort());
  EXPECT_NEAR(turns[0].item<double>(), 1.0 / 64, 1e-4);
  EXPECT_NEAR(turns[63].item<double>(), std::pow(64.0, -1.0 / 64), 1e-4);
  EXPECT_EQ(ema->gamma.select(2, 1).abs().max().item<double>(), 0.0);
  EXPECT_LE(ema->omega.abs().max().item<double>(), 1.0);
}

TEST(ComplexEma, RefusesTruncationAndABidirectionalState) {
  BlockOptions block;
  block.ema = complex(true);
  block.ema.truncation = 5;
  EXPECT_PRED2(contains, error_of([&] { validate(block); }), "set ema.truncation = 0");
  Ema ema(5, complex(true));
  Tensor state;
  EXPECT_PRED2(contains, error_of([&] {
                 ema->forward(torch::zeros({1, 2, 5}), {}, &state);
               }),
               "cannot carry a state");
}

// Both of Megalodon's parts in a block of ours: whole, in segments and token by token, saved and loaded.
TEST(ComplexEma, InABlockWithATimestepNorm) {
  torch::manual_seed(4);
  const torch::NoGradGuard no_grad;
  const testing::ScratchFolder folder;
  for (const bool prenorm : {false, true}) {
    BlockOptions block;
    block.width = 12;
    block.values = 16;
    block.shared = 8;
    block.causal = true;
    block.chunk = 16;
    block.position = PositionKind::rotary;
    block.ema = complex(false);
    block.norm = NormKind::timestep;
    block.norm_groups = 3;
    block.prenorm = prenorm;
    GatedAttention layer(block);
    for (Tensor& parameter : layer->parameters()) parameter.add_(torch::randn_like(parameter), 0.3);
    const Tensor x = torch::randn({2, 70, 12}), whole = layer->forward(x);
    for (const int64_t size : {1, 16, 23}) {
      State state;
      state.blocks.resize(1);
      std::vector<Tensor> pieces;
      for (int64_t at = 0; at < 70; at += size) {
        pieces.push_back(
            layer->forward(x.narrow(1, at, std::min(size, 70 - at)), {}, &state.blocks[0].attention));
        save_state(folder / "state", state);
        state = load_state(folder / "state");
      }
      EXPECT_LT(distance(torch::cat(pieces, 1), whole), 5e-5) << size;
    }
  }
}

}  // namespace
}  // namespace mega::nn
