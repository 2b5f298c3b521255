// One golden file, and how far a run of ours is from it.
//
// A case takes the inputs and options it needs, loads the parameters into a module, runs it, and hands the
// outputs to `check`, which compares every value and every gradient of the file. `finish` then fails for
// whatever nobody asked for: an input, a parameter or a result that a case forgets must not go unnoticed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/files/safetensors.h"
#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"

namespace mega::testing {

using torch::Tensor;

// How far two tensors may differ, as a share of the largest value.
inline constexpr double kValueTolerance = 1e-5;
inline constexpr double kGradientTolerance = 1e-4;
// A gradient may be zero by algebra. It is then compared with this share of the file's largest gradient.
inline constexpr double kGradientFloor = 1e-3;

// bf16 has 8 significant bits: a rounding changes a number by at most 2^-9 of itself. A value with so many
// roundings on the longest way to it may be off by as many times 2^-9 of the largest value; that holds to
// first order where no step on the way enlarges relative differences.
inline constexpr double kRounding = 1.0 / 512;
// Gated attention: the average, its activation, the mixed projection's weight and result, queries, attention
// weights, attention's output, that output after the reset gate, the last weight, the candidate. Other
// attention has no more.
inline constexpr int kAttentionRoundings = 10;
// A feed-forward: input, weight, hidden layer, its activation, weight. Other layers have no more.
inline constexpr int kOtherRoundings = 5;
inline constexpr int kBlockRoundings = kAttentionRoundings + kOtherRoundings;
// What comes before and after the blocks of a model: up to three linear layers, of input and weight.
inline constexpr int kOuterRoundings = 6;
// All gradients together, and each by itself, point the same way as in float32, up to an angle of cosine
// 0.999. A gradient that is small beside others may be a difference of large numbers, or zero by algebra: it
// may then differ by what the roundings allow for the file's largest gradient.
inline const double kAngle = std::acos(0.999);

// How a run computes. `rounded`: in float32, from inputs and matrices that were rounded to bf16.
enum class Arithmetic { f32, bf16, rounded };

// Names as in the file, without "out.".
using Outputs = std::map<std::string, Tensor>;

inline double largest(const Tensor& x) {
  return x.numel() == 0 ? 0.0 : x.detach().to(torch::kFloat64).abs().max().item<double>();
}

class Golden {
 public:
  explicit Golden(const std::filesystem::path& path) : file_(Safetensors::open(path)) {
    for (const std::string& name : names("grad."))
      largest_gradient_ = std::max(largest_gradient_, largest(ops::to_tensor(file_.at(name))));
  }

  // `layer`: the roundings of bf16 in a layer of the file's kind; 0: none, it is compared as in float32.
  void compute_in(Arithmetic arithmetic, int layer) {
    arithmetic_ = arithmetic;
    roundings_ = arithmetic == Arithmetic::f32 ? 0 : count_roundings(layer);
  }
  int roundings() const { return roundings_; }
  // As a share of the largest value.
  double value_tolerance() const { return kValueTolerance + roundings_ * kRounding; }

  // From here on, differences above their tolerance are no failures.
  void only_measure() { measures_ = true; }

  // Options: the file's metadata.
  bool has_option(const std::string& key) const { return file_.metadata().contains(key); }
  const std::string& option(const std::string& key) {
    require(has_option(key), "the metadata has no `", key, "`");
    known_options_.insert(key);
    return file_.metadata().at(key);
  }
  std::string option(const std::string& key, const char* otherwise) {
    return has_option(key) ? option(key) : otherwise;
  }
  double real(const std::string& key) {
    const std::string& text = option(key);
    size_t used = 0;
    const double value = std::stod(text, &used);
    require(used == text.size(), key, ": \"", text, "\" is no number");
    return value;
  }
  int64_t number(const std::string& key) {
    const double value = real(key);
    require(value == static_cast<double>(static_cast<int64_t>(value)), key, ": ", value,
            " is no whole number");
    return static_cast<int64_t>(value);
  }
  bool flag(const std::string& key) {
    return choice<bool>(key, {{"True", true}, {"yes", true}, {"False", false}, {"no", false}});
  }
  bool flag(const std::string& key, bool otherwise) { return has_option(key) ? flag(key) : otherwise; }
  template <class T>
  T choice(const std::string& key, const std::map<std::string, T>& values) {
    const auto found = values.find(option(key));
    require(found != values.end(), key, ": \"", option(key), "\" is not known here");
    return found->second;
  }
  // For options that do not change what is computed here.
  void ignore(std::initializer_list<const char*> keys) { known_options_.insert(keys.begin(), keys.end()); }

  // Inputs: leaves of the graph if the file has their gradients. Undefined if the file has none of that name.
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  Tensor input(const std::string& name) {
    Tensor x = as_computed("in." + name);
    if (has("grad.in." + name)) x.requires_grad_();
    leaves_["in." + name] = x;
    return x;
  }
  Tensor optional_input(const std::string& name) { return has("in." + name) ? input(name) : Tensor(); }

  // A parameter of a function that is no module here.
  Tensor parameter(const std::string& name) {
    Tensor x = as_computed("param." + name);
    if (has("grad.param." + name)) x.requires_grad_();
    leaves_["param." + name] = x;
    return x;
  }

  // Parameters and buffers of the module, each of which the file must have in the same shape, but for
  // dimensions of 1, under the same name, or under the name that `rename` makes of ours; sets training mode.
  using Rename = std::function<std::string(const std::string&)>;
  void load(
      torch::nn::Module& module, const Rename& rename = [](const std::string& name) { return name; }) {
    const torch::NoGradGuard guard;
    const auto copy = [&](const auto& item) {
      const std::string name = rename(item.key());
      const Tensor value = as_computed("param." + name);
      require(value.squeeze().sizes() == item.value().squeeze().sizes() &&
                  value.scalar_type() == item.value().scalar_type(),
              item.key(), " is ", value.sizes(), " ", value.scalar_type(), " in the file, ",
              item.value().sizes(), " ", item.value().scalar_type(), " in the module");
      item.value().copy_(value.view(item.value().sizes()));
      leaves_["param." + name] = item.value();
    };
    for (const auto& item : module.named_parameters()) copy(item);
    for (const auto& item : module.named_buffers()) copy(item);
    module.train(flag("training"));
  }

  // The file has a tied parameter under every name, the module under one.
  void tied(const std::string& name, const std::string& own) {
    require(take("param." + name).equal(take("param." + own)), name, " is not tied to ", own);
    if (has("grad.param." + name))
      require(take("grad.param." + name).equal(take("grad.param." + own)), "gradients of ", name, " and ",
              own, " differ");
  }

  // Compares every out.* of the file, and every grad.* of the loss that its cotangents define.
  void check(const Outputs& outputs) {
    for (const std::string& name : names("out.")) {
      if (name == kLoss) continue;
      const std::string key = name.substr(4);
      if (key.starts_with("buffer.")) {
        const auto buffer = leaves_.find("param." + key.substr(7));
        require(buffer != leaves_.end(), name, ": the module has no such buffer");
        value(name, buffer->second.view(take(name).sizes()));
      } else {
        const auto output = outputs.find(key);
        require(output != outputs.end(), name, ": no such output here");
        value(name, output->second);
      }
    }
    const Tensor loss = check_loss(outputs);
    if (!loss.defined()) return;
    loss.backward();
    for (const auto& [name, leaf] : leaves_) {
      if (!leaf.requires_grad()) continue;
      const Tensor gradient = leaf.grad().defined() ? leaf.grad() : torch::zeros_like(leaf);
      if (has("grad." + name))
        this->gradient("grad." + name, gradient.view(take("grad." + name).sizes()));
      else if (largest(gradient) > 0.0)
        ADD_FAILURE() << "grad." << name << ": there is one here, and none in the file";
    }
    if (all_.expected > 0.0) judge("all gradients, angle", all_.angle(), kAngle);
  }

  // Compares one result with the file's; a second result for the same name says `how` it came about.
  void value(const std::string& name, const Tensor& actual, const std::string& how = "") {
    const Tensor expected = take(name);
    compare(name + how, actual, expected, value_tolerance() * largest(expected));
  }
  void gradient(const std::string& name, const Tensor& actual) {
    const Tensor expected = take(name);
    if (roundings_ > 0) return compare_direction(name, actual, expected);
    compare(name, actual, expected,
            kGradientTolerance * std::max(largest(expected), kGradientFloor * largest_gradient_));
  }
  // Intermediate values: compared if the file has them.
  void aux(const std::string& name, const Tensor& actual) {
    if (has("aux." + name)) value("aux." + name, actual);
  }

  void finish() {
    for (const TensorView& tensor : file_.tensors()) {
      if (taken_.contains(tensor.name)) continue;
      if (tensor.name.starts_with("aux."))
        std::printf("  ----  %-66s not exposed\n", tensor.name.c_str());
      else
        ADD_FAILURE() << tensor.name << ": left over, nothing here used it";
    }
    for (const auto& [key, text] : file_.metadata()) {
      if (!known_options_.contains(key))
        std::printf("  ----  option %s = %s: not interpreted\n", key.c_str(), text.c_str());
    }
  }

  // Names of the file's tensors that begin so.
  std::vector<std::string> names(const std::string& prefix) const {
    std::vector<std::string> result;
    for (const TensorView& tensor : file_.tensors())
      if (tensor.name.starts_with(prefix)) result.push_back(tensor.name);
    return result;
  }

  Tensor take(const std::string& name) {
    taken_.insert(name);
    return ops::to_tensor(file_.at(name));
  }

  // Largest difference as a share of its tolerance, and where.
  double worst() const { return worst_; }
  const std::string& worst_name() const { return worst_name_; }

 private:
  static constexpr const char* kLoss = "out.loss_of_cotangent";

  // The sum over outputs of output * cotangent; undefined if the file has no cotangent.
  Tensor check_loss(const Outputs& outputs) {
    Tensor loss;
    double squares = 0.0;
    for (const std::string& name : names("cotangent")) {
      const Tensor& output = outputs.at(name == "cotangent" ? "y" : name.substr(10));
      const Tensor terms = (output * take(name)).to(torch::kFloat64);
      loss = loss.defined() ? loss + terms.sum() : terms.sum();
      squares += terms.detach().square().sum().item<double>();
    }
    if (has(kLoss)) {
      // The terms' signs differ, so the sum may happen to be near zero: measured by what such a sum usually
      // is.
      const Tensor expected = take(kLoss);
      compare(kLoss, loss.reshape(expected.sizes()), expected,
              value_tolerance() * std::max(largest(expected), std::sqrt(squares)));
    }
    return loss;
  }

  void compare(const std::string& name, const Tensor& actual, const Tensor& expected, double tolerance) {
    if (!actual.defined() || actual.sizes() != expected.sizes()) {
      ADD_FAILURE() << name << ": expected " << expected.sizes() << ", got "
                    << (actual.defined() ? actual.sizes() : c10::IntArrayRef());
      return;
    }
    const double difference = largest(actual.detach().to(torch::kFloat64) - expected.to(torch::kFloat64));
    judge(name, difference, tolerance);
  }

  void compare_direction(const std::string& name, const Tensor& actual, const Tensor& expected) {
    const Tensor a = actual.detach().flatten().to(torch::kFloat64),
                 e = expected.flatten().to(torch::kFloat64);
    const Direction direction{a.dot(e).item<double>(), a.square().sum().item<double>(),
                              e.square().sum().item<double>()};
    all_ = {all_.product + direction.product, all_.actual + direction.actual,
            all_.expected + direction.expected};
    const double difference = largest(a - e), allowed = roundings_ * kRounding * largest_gradient_;
    if (direction.angle() <= kAngle || difference > allowed)
      judge(name + ", angle", direction.angle(), kAngle);
    else
      judge(name, difference, allowed);
  }

  // The roundings on the longest way through the file's model, or through its single layer.
  int count_roundings(int layer) const {
    static const std::regex block(R"(\b(layers|blocks)\.\d+\.)"), cross(R"(\b(cross|encoder)_attn\.)");
    std::set<std::string> blocks, crosses;
    for (const std::string& name : names("param.")) {
      std::smatch found;
      if (!std::regex_search(name, found, block)) continue;
      const std::string place = found.prefix().str() + found.str();
      blocks.insert(place);
      if (std::regex_search(name, cross)) crosses.insert(place);
    }
    if (layer == 0 || blocks.empty()) return layer;
    return static_cast<int>(blocks.size()) * layer + static_cast<int>(crosses.size()) * kAttentionRoundings +
           kOuterRoundings;
  }

  // An input or parameter, as the run gets it.
  Tensor as_computed(const std::string& name) {
    const Tensor x = take(name);
    const bool multiplied = x.dim() >= 2 && (name.starts_with("in.") || name.ends_with("weight"));
    if (arithmetic_ != Arithmetic::rounded || !multiplied || x.scalar_type() != torch::kFloat32) return x;
    return x.to(torch::kBFloat16).to(torch::kFloat32);
  }

  void judge(const std::string& name, double difference, double tolerance) {
    const bool ok = difference <= tolerance;  // false for NaN
    std::printf("  %-4s  %-66s %.1e  tolerance %.1e\n", ok ? "OK" : "FAIL", name.c_str(), difference,
                tolerance);
    if (!ok && !measures_)
      ADD_FAILURE() << name << ": differs by " << difference << ", tolerance " << tolerance;
    const double ratio = difference == 0.0 ? 0.0 : difference / tolerance;
    if (ratio <= worst_) return;
    worst_ = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
    worst_name_ = name;
  }

  Safetensors file_;
  Arithmetic arithmetic_ = Arithmetic::f32;
  int roundings_ = 0;
  bool measures_ = false;
  struct Direction {  // sums of products and of squares
    double product = 0.0, actual = 0.0, expected = 0.0;
    double angle() const { return std::acos(std::min(1.0, product / std::sqrt(actual * expected))); }
  };
  Direction all_;  // of the gradients in bf16
  double largest_gradient_ = 0.0;
  std::map<std::string, Tensor> leaves_;  // by their names in the file
  std::set<std::string> taken_, known_options_;
  double worst_ = 0.0;
  std::string worst_name_;
};

}  // namespace mega::testing
