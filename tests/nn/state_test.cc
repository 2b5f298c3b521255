// States as values: copies, beams, valid and invalid files, truncated back-propagation.
#include "mega/nn/state.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "mega/config/files/state_file.h"
#include "mega/nn/mega_block.h"
#include "mega/ops/tensor_file.h"
#include "tests/nn/helpers.h"
#include "tests/save_tensors.h"

namespace mega::nn {
namespace {

using namespace mega::testing;
using torch::Tensor;

// Two decoder blocks, which use everything a state can hold.
class Stack {
 public:
  Stack() {
    torch::manual_seed(8);
    BlockOptions options = small_causal_block();
    options.chunk = 6;
    for (int i = 0; i < 2; ++i) {
      blocks_.emplace_back(options, true);
      scramble(*blocks_.back());
    }
  }
  Tensor forward(Tensor x, const Tensor& source, State& state, const Tensor& mask = {}) {
    state.blocks.resize(blocks_.size());
    for (size_t i = 0; i < blocks_.size(); ++i)
      x = blocks_[i]->forward(x, mask, source, {}, &state.blocks[i]);
    return x;
  }

 private:
  std::vector<MegaBlock> blocks_;
};

// A state of 3 sequences, 4 tokens into their second chunk, with some padding.
class StateTest : public ::testing::Test {
 protected:
  StateTest() {
    const torch::NoGradGuard guard;
    Tensor mask = torch::zeros({3, 10}, torch::kBool);
    mask[1].slice(0, 7, 9) = true;
    stack.forward(prefix, source, state, mask);
  }
  Tensor next(State& s, const Tensor& x, const Tensor& from = {}) {
    const torch::NoGradGuard guard;
    return stack.forward(x, from.defined() ? from : source, s);
  }

  Stack stack;
  Tensor source = torch::randn({3, 5, 11}), prefix = torch::randn({3, 10, 11});
  State state;
};

// After a long segment, a state owns a copy of its open chunk, not a slice that keeps the segment alive.
TEST_F(StateTest, HoldsNoMoreThanTheOpenChunk) {
  next(state, torch::randn({3, 18, 11}));
  for (const BlockState& block : state.blocks) {
    for (const Tensor& x : {block.attention.keys, block.attention.values}) {
      ASSERT_TRUE(x.defined());
      EXPECT_EQ(x.storage().nbytes(), x.numel() * sizeof(float));
    }
  }
}

TEST_F(StateTest, CopiesAreIndependent) {
  const Tensor a = torch::randn({3, 4, 11}), b = torch::randn({3, 4, 11});
  State one = state, two = state;
  const Tensor first = next(one, a);
  next(two, b);
  State again = state;
  EXPECT_TRUE(next(again, a).equal(first));
  EXPECT_EQ(state.blocks[0].attention.position, 10);
  EXPECT_EQ(one.blocks[0].attention.position, 14);
}

TEST_F(StateTest, ReorderedStatesAreReorderedSequences) {
  const Tensor index = torch::tensor({2, 0, 0, 1}), x = torch::randn({4, 3, 11});
  State beams = reorder(state, index);
  const Tensor y = next(beams, x, source.index_select(0, index));
  for (int64_t row = 0; row < 4; ++row) {
    State alone = reorder(state, index.narrow(0, row, 1));
    expect_close(y.narrow(0, row, 1),
                 next(alone, x.narrow(0, row, 1), source.narrow(0, index[row].item<int64_t>(), 1)), 1e-6,
                 "row");
  }
  EXPECT_PRED2(contains, error_of([&] { reorder(state, torch::tensor({0.0f})); }), "int64");
}

TEST_F(StateTest, SavedAndLoaded) {
  const ScratchFolder folder;
  const std::string path = folder / "stream.state";
  save_state(path, state);
  State loaded = load_state(path);
  ASSERT_EQ(loaded.blocks.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const auto &was = state.blocks[i], &is = loaded.blocks[i];
    EXPECT_TRUE(is.attention.ema.equal(was.attention.ema));
    EXPECT_TRUE(is.attention.keys.equal(was.attention.keys));
    EXPECT_TRUE(is.attention.values.equal(was.attention.values));
    EXPECT_TRUE(is.attention.padding.equal(was.attention.padding));
    EXPECT_TRUE(is.cross.keys.equal(was.cross.keys));
    EXPECT_TRUE(is.cross.values.equal(was.cross.values));
    EXPECT_EQ(is.attention.position, was.attention.position);
    EXPECT_EQ(is.cross.position, was.cross.position);
  }
  const Tensor x = torch::randn({3, 4, 11});
  EXPECT_TRUE(next(loaded, x).equal(next(state, x)));

  EXPECT_FALSE(StateFile::open(path).fingerprint.has_value());
  save_state(path, state, 42);
  EXPECT_EQ(StateFile::open(path).fingerprint, 42u);
  save_state(path, State());  // of a stream that has not started
  EXPECT_TRUE(load_state(path).blocks.empty());
}

// A truncated file, or one with a changed byte, is an Error.
TEST_F(StateTest, RejectsDamagedFiles) {
  const ScratchFolder folder;
  const std::string path = folder / "stream.state";
  save_state(path, state);
  std::string good;
  {
    std::ifstream file(path, std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(file), {});
  }
  const auto write = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
  for (size_t length = 0; length < good.size(); length += 1 + good.size() / 100) {
    write(good.substr(0, length));
    EXPECT_THROW(load_state(path), Error) << length;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bad = good;
    char& byte = bad[random() % bad.size()];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
    write(bad);
    EXPECT_THROW(load_state(path), Error) << i;
  }
  EXPECT_THROW(load_state(folder / "nothing"), Error);
}

TEST_F(StateTest, RejectsInconsistentFiles) {
  const ScratchFolder folder;
  const std::string path = folder / "stream.state";
  using Numbers = std::map<std::string, int64_t>;
  const auto write = [&](const Numbers& change, const ops::NamedTensors& tensors) {
    Numbers numbers = {{"blocks", 1}, {"blocks.0.position", 2}, {"blocks.0.cross.position", 0}};
    for (const auto& [name, number] : change) numbers[name] = number;
    write_state_file(path, {}, numbers, ops::TensorViews(tensors).views());
  };
  const auto message = [&](const Numbers& change, const ops::NamedTensors& tensors) {
    write(change, tensors);
    return error_of([&] { load_state(path); });
  };
  const Tensor keys = torch::zeros({3, 2, 4});
  EXPECT_PRED2(contains, message({{"blocks", 2}}, {}), "blocks.1.position");
  EXPECT_PRED2(contains, message({{"blocks", INT64_MAX}}, {}), "blocks.1.position");
  EXPECT_PRED2(contains, message({}, {{"blocks.0.ema", torch::zeros({3, 2})}}), "blocks.0.ema");
  EXPECT_PRED2(contains, message({}, {{"blocks.0.ema", torch::zeros({3, 2, 2}, torch::kInt64)}}),
               "blocks.0.ema");
  EXPECT_PRED2(contains, message({}, {{"blocks.0.keys", keys}}), "blocks.0.values");
  EXPECT_PRED2(contains, message({}, {{"blocks.0.keys", keys}, {"blocks.0.values", torch::zeros({3, 1, 4})}}),
               "blocks.0.values");
  EXPECT_PRED2(contains,
               message({}, {{"blocks.0.ema", torch::zeros({2, 4, 4})},
                            {"blocks.0.keys", keys},
                            {"blocks.0.values", keys}}),
               "blocks.0.keys");
  EXPECT_PRED2(contains,
               message({{"blocks.0.position", 1}}, {{"blocks.0.keys", keys}, {"blocks.0.values", keys}}),
               "blocks.0.position");
  EXPECT_PRED2(contains,
               message({}, {{"blocks.0.keys", keys},
                            {"blocks.0.values", keys},
                            {"blocks.0.padding", torch::zeros({3, 2})}}),
               "blocks.0.padding");
  EXPECT_PRED2(contains, message({}, {{"blocks.0.cross.keys", keys}}), "blocks.0.cross.values");
  testing::save_tensors(path, {{"weight", keys}});
  EXPECT_PRED2(contains, error_of([&] { load_state(path); }), "not a state file");

  // A valid file of another model: the layer rejects it.
  write({}, {{"blocks.0.keys", keys}, {"blocks.0.values", keys}});
  State other = load_state(path);
  EXPECT_PRED2(contains, error_of([&] { next(other, torch::randn({3, 1, 11})); }), "keys should be");
}

TEST_F(StateTest, DetachedStatesEndTheGraph) {
  const Tensor early = torch::randn({3, 4, 11}).requires_grad_(), late = torch::randn({3, 2, 11});
  for (const bool cut : {false, true}) {
    State s;
    stack.forward(early, source, s);
    if (cut) s = detach(s);
    const Tensor y = stack.forward(late, source, s);
    const auto gradient = torch::autograd::grad({y.square().sum()}, {early}, {}, {}, false, true)[0];
    EXPECT_EQ(gradient.defined(), !cut);
    EXPECT_TRUE(cut || gradient.abs().max().item<float>() > 0.0f);
  }
  State s = state, t = detach(state);
  const Tensor x = torch::randn({3, 1, 11});
  EXPECT_TRUE(next(s, x).equal(next(t, x)));
}

}  // namespace
}  // namespace mega::nn
