// Each norm against its definition, and batch norm shared by two processes against one over the joined batch.
#include "mega/nn/norm.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "tests/nn/helpers.h"

namespace mega::nn {
namespace {

using namespace mega::testing;
using torch::Tensor;

constexpr double kEpsilon = 1e-5;

SequenceNorm make(NormKind kind, bool affine = true, int64_t width = 7) {
  torch::manual_seed(2);
  SequenceNorm norm(width, kind, affine);
  scramble(*norm);
  return norm;
}

Tensor parameter(const SequenceNorm& norm, const char* name) { return norm->named_parameters()[name]; }
Tensor buffer(const SequenceNorm& norm, const char* name) { return norm->named_buffers()[name]; }

TEST(SequenceNorm, MatchesTheDefinition) {
  const Tensor x = torch::randn({3, 5, 7}) * 2 + 1;
  const Tensor square = x.square().mean(-1, true), mean = x.mean(-1, true);
  const Tensor variance = (x - mean).square().mean(-1, true);  // biased

  SequenceNorm layer = make(NormKind::layer), scale = make(NormKind::scale), rms = make(NormKind::rms);
  expect_close(layer->forward(x),
               (x - mean) / torch::sqrt(variance + kEpsilon) * parameter(layer, "norm.weight") +
                   parameter(layer, "norm.bias"),
               1e-6, "layer");
  ASSERT_EQ(parameter(scale, "norm.scalar").numel(), 1);
  expect_close(scale->forward(x), x / torch::sqrt(square + kEpsilon) * parameter(scale, "norm.scalar"), 1e-6,
               "scale");
  expect_close(rms->forward(x), x / torch::sqrt(square + kEpsilon) * parameter(rms, "norm.weight"), 1e-6,
               "rms");
}

TEST(SequenceNorm, WeightsStartAtOne) {
  for (const auto kind : {NormKind::layer, NormKind::scale, NormKind::rms, NormKind::batch}) {
    SequenceNorm fresh(7, kind), plain(7, kind, false);
    EXPECT_TRUE(plain->parameters().empty()) << to_string(kind);
    const Tensor x = torch::randn({3, 5, 7});
    expect_close(fresh->forward(x), plain->forward(x), 1e-6, std::string(to_string(kind)));
  }
}

TEST(SequenceNorm, BatchStatistics) {
  for (const auto kind : {NormKind::batch, NormKind::sync_batch}) {  // equal without a communicator
    SequenceNorm norm = make(kind);
    const Tensor x = torch::randn({3, 5, 7}) * 2 + 1, rows = x.view({15, 7});
    const Tensor mean = rows.mean(0), variance = rows.var(0, false);
    const auto affine = [&](const Tensor& y) {
      return y * parameter(norm, "norm.weight") + parameter(norm, "norm.bias");
    };
    expect_close(norm->forward(x), affine((x - mean) / torch::sqrt(variance + kEpsilon)), 1e-6, "training");
    expect_close(buffer(norm, "norm.running_mean"), mean * 0.1, 1e-6, "running mean");
    expect_close(buffer(norm, "norm.running_var"), rows.var(0, true) * 0.1 + 0.9, 1e-6, "running variance");
    EXPECT_EQ(buffer(norm, "norm.num_batches_tracked").item<int64_t>(), 1);

    norm->eval();
    const Tensor running_mean = buffer(norm, "norm.running_mean").clone();
    expect_close(norm->forward(x),
                 affine((x - running_mean) / torch::sqrt(buffer(norm, "norm.running_var") + kEpsilon)), 1e-6,
                 "eval");
    EXPECT_TRUE(buffer(norm, "norm.running_mean").equal(running_mean));
    norm->train();
    EXPECT_PRED2(contains, error_of([&] {
                   norm->forward(torch::randn({1, 1, 7}));
                 }),
                 "more than one position");
  }
}

TEST(SequenceNorm, FormsAgree) {
  for (const auto kind : {NormKind::layer, NormKind::scale, NormKind::rms, NormKind::batch}) {
    SCOPED_TRACE(to_string(kind));
    for (const bool affine : {true, false}) {
      SequenceNorm norm = make(kind, affine, 37);
      compare_module_forms(*norm, torch::randn({2, 40, 37}),
                           [&](const Tensor& x) { return norm->forward(x); });
    }
  }
}

TEST(SequenceNorm, RejectsOtherWidths) {
  EXPECT_PRED2(contains, error_of([] {
                 make(NormKind::layer)->forward(torch::randn({2, 3, 8}));
               }),
               "width 7");
}

// Two "processes", here threads, that meet at a barrier.
class Pair {
 public:
  std::shared_ptr<Communicator> communicator(size_t rank) { return std::make_shared<End>(*this, rank); }

 private:
  struct End : Communicator {
    End(Pair& p, size_t r) : pair(p), rank(r) {}
    void all_reduce_sum(Tensor& x) override {
      pair.slots_[rank] = x;
      pair.barrier_.arrive_and_wait();
      const Tensor sum = pair.slots_[0] + pair.slots_[1];
      pair.barrier_.arrive_and_wait();
      x.copy_(sum);
    }
    Pair& pair;
    size_t rank;
  };

  std::barrier<> barrier_{2};
  Tensor slots_[2];
};

TEST(SequenceNorm, SharedBatchEqualsTheJoinedBatch) {
  const Tensor x = torch::randn({5, 6, 7}) * 3 + 2, cotangent = torch::randn({5, 6, 7});
  const int64_t first[] = {0, 2}, count[] = {2, 3};  // unequal shares

  SequenceNorm joined = make(NormKind::batch);
  const Tensor leaf = x.clone().requires_grad_();
  const Tensor expected = joined->forward(leaf);
  expected.backward(cotangent);

  Pair pair;
  SequenceNorm norms[] = {make(NormKind::sync_batch), make(NormKind::sync_batch)};
  Tensor leaves[2], outputs[2];
  std::vector<std::thread> processes;
  for (const size_t rank : {0, 1}) {
    norms[rank]->set_communicator(pair.communicator(rank));
    leaves[rank] = x.narrow(0, first[rank], count[rank]).clone().requires_grad_();
    processes.emplace_back([&, rank] {
      outputs[rank] = norms[rank]->forward(leaves[rank]);
      outputs[rank].backward(cotangent.narrow(0, first[rank], count[rank]));
    });
  }
  for (std::thread& process : processes) process.join();

  expect_close(torch::cat({outputs[0], outputs[1]}), expected, 1e-5, "value");
  expect_close(torch::cat({leaves[0].grad(), leaves[1].grad()}), leaf.grad(), 1e-4, "gradient of the input");
  for (const char* name : {"norm.weight", "norm.bias"})
    expect_close(parameter(norms[0], name).grad() + parameter(norms[1], name).grad(),
                 parameter(joined, name).grad(), 1e-4, name);
  for (const auto& norm : norms)
    for (const char* name : {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"})
      expect_close(buffer(norm, name), buffer(joined, name), 1e-5, name);
}

}  // namespace
}  // namespace mega::nn
