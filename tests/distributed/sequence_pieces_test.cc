// Pieces of a sequence in several processes: what layers compute is what one process computes of the whole.
#include "mega/nn/sequence_pieces.h"

#include <gtest/gtest.h>

#include "mega/models/padding.h"
#include "mega/nn/mega_block.h"
#include "tests/distributed/worlds.h"

namespace mega::nn {
namespace {

using distributed::World;
using torch::Tensor;

// No process but this one: for where pieces lie.
struct Alone : Exchange {
  Alone(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void exchange(const std::vector<Tensor>&, const std::vector<Tensor>&) override {}

 private:
  int rank_, size_;
};

TEST(SequencePieces, AreWholeChunksOfNearlyEqualNumber) {
  for (const int64_t length : {1, 7, 8, 9, 31, 64, 100})
    for (const int64_t unit : {1, 4, 16})
      for (const int size : {1, 2, 3, 5}) {
        SCOPED_TRACE(testing::Message()
                     << length << " positions, unit " << unit << ", " << size << " processes");
        Alone alone(size - 1, size);
        const SequencePieces pieces(alone, length, unit);
        int64_t end = 0, least = length, most = 0;
        for (const Span& piece : pieces.all()) {
          EXPECT_EQ(piece.begin, end);
          EXPECT_TRUE(piece.begin % unit == 0 || piece.length() == 0);
          end = piece.end;
          const int64_t units = (piece.length() + unit - 1) / unit;
          least = std::min(least, units);
          most = std::max(most, units);
        }
        EXPECT_EQ(end, length);
        EXPECT_LE(most - least, 1);
        EXPECT_GT(pieces.all().front().length(), 0);
        EXPECT_EQ(pieces.read().length(), std::max<int64_t>(1, pieces.own().length()));
      }
  Alone alone(0, 2);
  EXPECT_THROW(SequencePieces(alone, 0, 1), Error);
}

// What a layer makes of x (B, L, D), and the gradients of sum(w y).
struct Answer {
  Tensor y, dx;
  std::vector<Tensor> parameters;  // their gradients
};

Answer answer_of(MegaBlock& block, const Tensor& x, const Tensor& mask, const Tensor& weights,
                 double counts = 1.0) {
  Answer answer;
  const Tensor input = x.detach().clone().requires_grad_();
  answer.y = block->forward(input, mask);
  ((answer.y * weights).sum() * counts).backward();
  answer.dx = input.grad();
  for (const Tensor& parameter : block->parameters())
    answer.parameters.push_back(parameter.grad().defined() ? parameter.grad() : torch::zeros_like(parameter));
  return answer;
}

void expect_close(const Tensor& a, const Tensor& b, double tolerance, const char* what) {
  EXPECT_LT((a - b).abs().max().item<double>(), tolerance * (1.0 + b.abs().max().item<double>())) << what;
}

void expect_same_in_pieces(const BlockOptions& options, int64_t length, int size, torch::ScalarType type,
                           double tolerance) {
  torch::manual_seed(5);
  const int64_t batch = 3;
  const Tensor x = torch::randn({batch, length, options.width}, type),
               weights = torch::randn({batch, length, options.width}, type);
  const Tensor lengths = torch::tensor({length, (length + 1) / 2, (length + 3) / 4});
  const Tensor mask = torch::arange(length).unsqueeze(0) >= lengths.unsqueeze(1);
  std::vector<MegaBlock> blocks;
  for (int i = 0; i <= size; ++i) {
    blocks.emplace_back(options);
    blocks.back()->to(type);
    const torch::NoGradGuard guard;
    auto parameters = blocks.back()->parameters();
    for (size_t k = 0; k < parameters.size(); ++k)
      parameters[k].copy_(i == 0 ? parameters[k] + 0.3 * torch::randn_like(parameters[k])
                                 : blocks.front()->parameters()[k]);
  }
  const Answer whole = answer_of(blocks.back(), x, mask, weights);
  std::vector<Answer> answers(static_cast<size_t>(size));
  distributed::expect_none(distributed::in_worlds(size, [&](World& world) {
    const SequencePieces pieces(world.common(), length, options.chunk > 0 ? options.chunk : 1);
    const SequencePiecesGuard guard(&pieces);
    const Span read = pieces.read();
    const bool stand_in = pieces.own().length() == 0;
    const auto part = [&](const Tensor& t) { return t.slice(1, read.begin, read.end); };
    // Where nothing is padded, some processes have no mask.
    Tensor own = stand_in ? torch::ones({batch, 1}, torch::kBool) : part(mask);
    if (!own.any().item<bool>()) own = Tensor();
    Answer answer = answer_of(blocks[pieces.rank()], part(x), own, part(weights), stand_in ? 0.0 : 1.0);
    if (stand_in) {
      answer.y = answer.y.slice(1, 0, 0);
      answer.dx = answer.dx.slice(1, 0, 0);
    }
    answers[pieces.rank()] = answer;
    world.finish();
  }));
  std::vector<Tensor> y, dx;
  for (const Answer& answer : answers) {
    y.push_back(answer.y);
    dx.push_back(answer.dx);
  }
  // What stands at padding is nobody's answer, but enters batch statistics: it must agree, too.
  expect_close(torch::cat(y, 1), whole.y, tolerance, "output");
  expect_close(torch::cat(dx, 1), whole.dx, tolerance, "gradient of the input");
  for (size_t k = 0; k < whole.parameters.size(); ++k) {
    Tensor sum = torch::zeros_like(whole.parameters[k]);
    for (const Answer& answer : answers) sum += answer.parameters[k];
    expect_close(sum, whole.parameters[k], tolerance, "gradient of a parameter");
  }
}

BlockOptions tiny_block() {
  BlockOptions options;
  options.width = 8;
  options.values = 12;
  options.shared = 6;
  options.hidden = 12;
  options.ema.dimension = 3;
  options.max_positions = 64;
  return options;
}

class BlockInPieces : public testing::TestWithParam<torch::ScalarType> {
 protected:
  double tolerance() const { return GetParam() == torch::kDouble ? 1e-10 : 1e-4; }
  void check(const BlockOptions& options) const {
    for (const int64_t length : {1, 5, 33, 50})
      for (const int size : {2, 3, 4}) {
        SCOPED_TRACE(testing::Message()
                     << length << " positions, " << size << " processes, chunk " << options.chunk
                     << ", truncation " << options.ema.truncation << ", " << to_string(options.position));
        expect_same_in_pieces(options, length, size, GetParam(), tolerance());
      }
  }
};

TEST_P(BlockInPieces, BothDirections) {
  for (const int64_t chunk : {-1, 8})
    for (const int64_t truncation : {0, 1, 6, 40}) {
      BlockOptions options = tiny_block();
      options.chunk = chunk;
      options.ema.truncation = truncation;
      check(options);
    }
}

TEST_P(BlockInPieces, Causal) {
  for (const int64_t chunk : {-1, 8})
    for (const AttentionFunction function : {AttentionFunction::softmax, AttentionFunction::laplace}) {
      BlockOptions options = tiny_block();
      options.chunk = chunk;
      options.causal = true;
      options.prenorm = true;
      options.attention = function;
      options.ema.bidirectional = false;
      check(options);
    }
}

TEST_P(BlockInPieces, KindsOfPositionAndAverage) {
  for (const PositionKind position : {PositionKind::none, PositionKind::rotary, PositionKind::rope,
                                      PositionKind::t5, PositionKind::alibi, PositionKind::tupe})
    for (const int64_t chunk : {-1, 8}) {
      BlockOptions options = tiny_block();
      options.chunk = chunk;
      options.position = position;
      expect_same_in_pieces(options, 37, 3, GetParam(), tolerance());
    }
  for (const EmaKind kind : {EmaKind::plain, EmaKind::damped}) {
    BlockOptions options = tiny_block();
    options.chunk = 8;
    options.ema.kind = kind;
    expect_same_in_pieces(options, 37, 3, GetParam(), tolerance());
  }
  BlockOptions none = tiny_block();
  none.chunk = 8;
  none.ema.dimension = 0;
  expect_same_in_pieces(none, 37, 3, GetParam(), tolerance());
}

INSTANTIATE_TEST_SUITE_P(Types, BlockInPieces, testing::Values(torch::kDouble, torch::kFloat));

TEST(SequencePieces, PoolOverAll) {
  const Tensor x = torch::randn({2, 10, 3}, torch::kDouble);
  const std::vector<int64_t> lengths = {10, 4};
  const auto sequences = [&](const Span& span) {
    models::Sequences part{torch::zeros({2, span.length()}), torch::tensor(lengths) - span.begin};
    part.lengths = part.lengths.clamp(0, span.length());
    return part;
  };
  for (const Pooling pooling : {Pooling::mean, Pooling::cls, Pooling::first}) {
    const Tensor whole = models::Padding(sequences({0, 10}), 1).pool(x, pooling);
    distributed::expect_none(distributed::in_worlds(3, [&](World& world) {
      const SequencePieces pieces(world.common(), 10, 2);
      const SequencePiecesGuard guard(&pieces);
      const Span own = pieces.own();
      const Tensor pooled = models::Padding(sequences(own), 1).pool(x.slice(1, own.begin, own.end), pooling);
      EXPECT_LT((pooled - whole).abs().max().item<double>(), 1e-12);
      world.finish();
    }));
  }
}

TEST(SequencePieces, RefuseWhatTheyCannotDo) {
  Alone alone(0, 2);
  const SequencePieces pieces(alone, 16, 8);
  const SequencePiecesGuard guard(&pieces);
  BlockOptions options = tiny_block();
  options.causal = true;
  options.chunk = 8;
  options.ema.bidirectional = false;
  BlockState state;
  EXPECT_THROW(MegaBlock(options)->forward(torch::randn({1, 8, 8}), {}, &state), Error);
  options.ema.kind = EmaKind::complex;
  EXPECT_THROW(MegaBlock(options)->forward(torch::randn({1, 8, 8})), Error);
}

}  // namespace
}  // namespace mega::nn
