#include "mega/train/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/base/helpers.h"
#include "tests/distributed/worlds.h"
#include "tests/save_tensors.h"

namespace mega::train {
namespace {

using torch::Tensor;

constexpr double kRate = 0.01;

TrainOptions options() {
  TrainOptions result;
  result.weight_decay = 0.1;
  result.clip = 0.0;
  return result;
}

// One update of a fresh optimiser from p by the gradient g.
Tensor updated(const Tensor& p, const Tensor& g, const TrainOptions& o, double* norm = nullptr) {
  const Tensor parameter = p.clone().requires_grad_();
  parameter.mutable_grad() = g.clone();
  const double found = AdamW({parameter}, o).step(kRate);
  if (norm != nullptr) *norm = found;
  return parameter.detach();
}

TEST(AdamW, FirstUpdateIsTheReleasedFormula) {
  const TrainOptions o = options();
  const Tensor p = torch::randn({5}, torch::kFloat64), g = torch::randn({5}, torch::kFloat64);
  // m = (1 - beta1) g and v = (1 - beta2) g^2: the corrections cancel, except beside epsilon.
  const Tensor direction = g / (g.abs() + o.epsilon / std::sqrt(1.0 - o.beta2));
  const Tensor expected = p * (1.0 - kRate * o.weight_decay) - kRate * direction;
  EXPECT_TRUE(torch::allclose(updated(p, g, o), expected, 1e-12, 1e-12));
}

TEST(AdamW, FusedFloatPathEqualsDoublePath) {
  torch::manual_seed(1);
  TrainOptions o = options();
  o.clip = 1.0;
  // Sizes around the vector width, and one that is shared between threads.
  std::vector<Tensor> floats, doubles;
  for (const int64_t size : {1, 7, 16, 33, 20001}) {
    doubles.push_back(torch::randn({size}, torch::kFloat32).to(torch::kFloat64).requires_grad_());
    floats.push_back(doubles.back().detach().to(torch::kFloat32).requires_grad_());
  }
  AdamW fused(floats, o), plain(doubles, o);
  for (int step = 0; step < 20; ++step) {
    for (size_t i = 0; i < floats.size(); ++i) {
      floats[i].mutable_grad() = torch::randn_like(floats[i].detach());
      doubles[i].mutable_grad() = floats[i].grad().to(torch::kFloat64);
    }
    const double norm = plain.step(kRate);
    EXPECT_NEAR(fused.step(kRate), norm, 1e-5 * norm);
  }
  for (size_t i = 0; i < floats.size(); ++i) {
    const Tensor difference = floats[i].detach().to(torch::kFloat64) - doubles[i].detach();
    EXPECT_LT(difference.abs().max().item<double>(), 2e-6) << floats[i].sizes();
  }
}

TEST(AdamW, ClipsTheNormOfAllGradientsTogether) {
  TrainOptions clipping = options(), none = options();
  clipping.clip = 1.0;
  for (TrainOptions* o : {&clipping, &none})
    o->epsilon = 0.1;  // without it Adam hardly sees a gradient's size
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    const Tensor p = torch::zeros({2}, dtype), g = torch::tensor({3.0, 4.0}, dtype);
    double norm = 0.0;
    const Tensor clipped = updated(p, g, clipping, &norm);
    EXPECT_NEAR(norm, 5.0, 1e-6) << "the norm before clipping";
    EXPECT_TRUE(torch::allclose(clipped, updated(p, g / (5.0 + 1e-6), none), 1e-5));
    EXPECT_FALSE(torch::allclose(clipped, updated(p, g, none), 1e-2));
    EXPECT_TRUE(updated(p, g / 10, clipping).equal(updated(p, g / 10, none)))
        << "a small gradient stays as it is";

    // The same gradient as two parameters.
    const std::vector<Tensor> parts = {p.narrow(0, 0, 1).clone().requires_grad_(),
                                       p.narrow(0, 1, 1).clone().requires_grad_()};
    parts[0].mutable_grad() = g.narrow(0, 0, 1).clone();
    parts[1].mutable_grad() = g.narrow(0, 1, 1).clone();
    EXPECT_NEAR(AdamW(parts, clipping).step(kRate), 5.0, 1e-6);
    EXPECT_TRUE(torch::allclose(torch::cat({parts[0].detach(), parts[1].detach()}), clipped, 1e-6));
  }
}

TEST(AdamW, DecaysWhatHasAGradientAndLeavesTheRest) {
  const Tensor used = torch::ones({3}).requires_grad_(), unused = torch::ones({3}).requires_grad_();
  AdamW optimizer({used, unused}, options());
  used.mutable_grad() = torch::zeros({3});
  EXPECT_EQ(optimizer.step(kRate), 0.0);
  EXPECT_TRUE(torch::allclose(used.detach(), torch::full({3}, 1.0 - kRate * 0.1)));
  EXPECT_TRUE(unused.detach().equal(torch::ones({3})));
}

TEST(AdamW, TakesGradientsThatAreNotContiguous) {
  const Tensor p = torch::randn({4, 6}), g = torch::randn({6, 4});
  EXPECT_TRUE(updated(p, g.t(), options()).equal(updated(p, g.t().contiguous(), options())));
}

TEST(AdamW, ZeroGradientsForgetsThem) {
  const Tensor p = torch::ones({3}).requires_grad_();
  AdamW optimizer({p}, options());
  p.sum().backward();
  optimizer.zero_gradients();
  EXPECT_FALSE(p.grad().defined());
}

// Named parameters of ones with gradients of ones.
ops::NamedTensors named(std::initializer_list<const char*> names) {
  ops::NamedTensors result;
  for (const char* name : names) {
    result.emplace_back(name, torch::ones({3}).requires_grad_());
    result.back().second.mutable_grad() = torch::ones({3});
  }
  return result;
}

double first(const Tensor& tensor) { return tensor.detach()[0].item<double>(); }

TEST(AdamW, GroupsHaveARateAndADecayOfTheirOwn) {
  const ops::NamedTensors parameters = named({"layers.0.w", "layers.1.w", "layers.1.b", "head.w"});
  TrainOptions o = options();
  o.groups = {{"layers.*", 0.5, 1.0}, {"*.b", 1.0, 0.0}, {"layers.0.?", 0.0, 1.0}};
  AdamW(parameters, o).step(kRate);
  const auto moved = [&](size_t i) { return 1.0 - first(parameters[i].second); };
  EXPECT_EQ(moved(0), 0.0) << "frozen, decay and all";
  EXPECT_NEAR(moved(1), 0.5 * kRate * 1.1, 1e-6);
  EXPECT_NEAR(moved(2), kRate, 1e-6) << "the later group wins: the whole rate, no decay";
  EXPECT_NEAR(moved(3), kRate * 1.1, 1e-6);
  o.groups = {{"layer.*", 1.0, 1.0}};
  EXPECT_PRED2(testing::contains, testing::error_of([&] { AdamW(parameters, o); }), "\"layer.*\"");
}

TensorInfo info(const std::string& name, bool decays, double learning_rate = 0.0) {
  TensorInfo tensor;
  tensor.name = name;
  tensor.decays = decays;
  tensor.learning_rate = learning_rate;
  return tensor;
}

TEST(AdamW, SomeParametersAreNotDecayed) {
  TrainOptions o = options();
  const ops::NamedTensors parameters = named({"head.weight", "head.bias"});
  AdamW(parameters, o, {info("head.bias", false)}).step(kRate);
  const auto moved = [](const ops::NamedTensors& all, size_t i) { return 1.0 - first(all[i].second); };
  EXPECT_NEAR(moved(parameters, 0), kRate * 1.1, 1e-6);
  EXPECT_NEAR(moved(parameters, 1), kRate, 1e-6);
  o.groups = {{"*", 1.0, 1.0}};
  const ops::NamedTensors again = named({"head.weight", "head.bias"});
  AdamW(again, o, {info("head.bias", false)}).step(kRate);
  EXPECT_NEAR(moved(again, 1), kRate * 1.1, 1e-6) << "the user's groups win";
}

// A state space model's A, B and steps.
TEST(AdamW, SomeParametersHaveAHighestRateOfTheirOwn) {
  TrainOptions o = options();
  o.learning_rate = 0.2;
  const ops::NamedTensors parameters = named({"layer.A", "layer.C"});
  AdamW(parameters, o, {info("layer.A", false, 0.05), info("layer.C", true)}).step(kRate);
  const auto moved = [](const ops::NamedTensors& all, size_t i) { return 1.0 - first(all[i].second); };
  EXPECT_NEAR(moved(parameters, 0), kRate * 0.05 / 0.2, 1e-6) << "in proportion, wherever the schedule is";
  EXPECT_NEAR(moved(parameters, 1), kRate * 1.1, 1e-6);
  o.groups = {{"*.A", 1.0, 0.0}};
  const ops::NamedTensors again = named({"layer.A", "layer.C"});
  AdamW(again, o, {info("layer.A", false, 0.05)}).step(kRate);
  EXPECT_NEAR(moved(again, 0), kRate, 1e-6) << "the user's groups win";
}

TEST(AdamW, EpsilonAfterTheCorrectionIsLibtorchs) {
  TrainOptions o = options();
  o.epsilon = 0.1;  // large, so that its place matters
  o.corrected_epsilon = true;
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    torch::manual_seed(2);
    const Tensor ours = torch::randn({6}, dtype).requires_grad_();
    const Tensor theirs = ours.detach().clone().requires_grad_(), before = ours.detach().clone();
    AdamW optimizer({ours}, o);
    torch::optim::AdamW expected({theirs}, torch::optim::AdamWOptions(kRate)
                                               .betas({o.beta1, o.beta2})
                                               .eps(o.epsilon)
                                               .weight_decay(o.weight_decay));
    for (int step = 0; step < 4; ++step) {
      const Tensor gradient = torch::randn({6}, dtype);
      ours.mutable_grad() = gradient.clone();
      theirs.mutable_grad() = gradient.clone();
      optimizer.step(kRate);
      expected.step();
    }
    EXPECT_TRUE(torch::allclose(ours, theirs, 1e-5, 1e-6));
    TrainOptions raw = o;
    raw.corrected_epsilon = false;
    const Tensor gradient = torch::ones({6}, dtype);
    EXPECT_FALSE(torch::allclose(updated(before, gradient, raw), updated(before, gradient, o), 1e-4));
  }
}

TEST(AdamW, StateGoesThroughAFile) {
  const testing::ScratchFolder folder;
  const ops::NamedTensors one = named({"a", "b"}), other = named({"a", "b"});
  AdamW optimizer(one, options());
  for (int i = 0; i < 3; ++i) optimizer.step(kRate);
  testing::save_tensors(folder / "state", optimizer.state());
  AdamW resumed(other, options());
  resumed.load_state(Safetensors::open(folder / "state"));
  for (size_t i = 0; i < 2; ++i) {
    const torch::NoGradGuard guard;
    other[i].second.copy_(one[i].second);
    one[i].second.mutable_grad().fill_(-0.3);
    other[i].second.mutable_grad().fill_(-0.3);
  }
  optimizer.step(kRate);
  resumed.step(kRate);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(one[i].second.equal(other[i].second));
  AdamW stranger(named({"c"}), options());
  EXPECT_PRED2(testing::contains,
               testing::error_of([&] { stranger.load_state(Safetensors::open(folder / "state")); }),
               "mean.c");
}

// Each process has the moments of its own numbers, and all have the parameters of one that has all.
TEST(AdamW, SharedByProcesses) {
  const testing::ScratchFolder folder;
  for (const auto type : {torch::kFloat32, torch::kFloat64}) {
    const auto make = [&] {
      ops::NamedTensors parameters;
      for (const int64_t size : {5, 1, 41})
        parameters.emplace_back(
            std::to_string(size),
            torch::linspace(-1.0, 1.0, size, type).view({-1, 1}).clone().requires_grad_());
      return parameters;
    };
    const auto step = [](AdamW& optimizer, const ops::NamedTensors& parameters, int number) {
      for (const auto& [name, parameter] : parameters)
        const_cast<Tensor&>(parameter).mutable_grad() = (parameter.detach() + number).sin();
      return optimizer.step(kRate);
    };
    TrainOptions o = options();
    o.clip = 1.0;
    const ops::NamedTensors expected = make();
    AdamW alone(expected, o);
    std::vector<double> norms;
    for (int i = 0; i < 3; ++i) norms.push_back(step(alone, expected, i));
    ops::NamedTensors state = alone.state();
    for (auto& [name, tensor] : state) tensor = tensor.clone();  // alone goes on
    testing::save_tensors(folder / "state", state);
    norms.push_back(step(alone, expected, 3));

    distributed::expect_none(distributed::in_worlds(3, [&](distributed::World& world) {
      const ops::NamedTensors parameters = make();
      std::vector<Tensor> tensors;
      for (const auto& [name, parameter] : parameters) tensors.push_back(parameter);
      const distributed::ParameterShares shares(tensors, world.common(), 64);
      AdamW optimizer(parameters, o, {}, &shares);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(step(optimizer, parameters, static_cast<int>(i)), norms[i]) << "update " << i;
      const ops::NamedTensors gathered = optimizer.state();
      ASSERT_EQ(gathered.size(), world.leads() ? state.size() : 1);
      for (size_t i = 0; i < gathered.size(); ++i) {
        EXPECT_EQ(gathered[i].first, state[i].first);
        EXPECT_TRUE(gathered[i].second.equal(state[i].second)) << state[i].first;
      }
      AdamW resumed(parameters, o, {}, &shares);
      resumed.load_state(Safetensors::open(folder / "state"));
      EXPECT_EQ(step(resumed, parameters, 3), norms[3]);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(parameters[i].second.equal(expected[i].second)) << expected[i].first;
      world.finish();
    }));
  }
}

TEST(AdamW, AGradientThatIsNotFiniteChangesNothing) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const ops::NamedTensors parameters = named({"a", "b"}), untouched = named({"a", "b"});
    AdamW optimizer(parameters, options());
    parameters[1].second.mutable_grad()[2] = bad;
    EXPECT_FALSE(std::isfinite(optimizer.step(kRate)));
    for (const auto& [name, parameter] : parameters) EXPECT_EQ(first(parameter), 1.0) << name;
    for (const auto& [name, tensor] : optimizer.state())
      EXPECT_EQ(tensor.abs().sum().item<double>(), 0.0) << name;
    // And the next step is the first.
    parameters[1].second.mutable_grad()[2] = 1.0F;
    optimizer.step(kRate);
    AdamW(untouched, options()).step(kRate);
    EXPECT_TRUE(parameters[1].second.equal(untouched[1].second));
  }
}

}  // namespace
}  // namespace mega::train
