#include "bench/attention_functions.h"

#include <cmath>
#include <utility>

#include "mega/ops/activation.h"

namespace mega::bench {
namespace {

using torch::Tensor;

struct Shape {
  Tensor values, slopes;
};

Shape shape_of(Tensor (*function)(const Tensor&), const Tensor& places) {
  const Tensor x = places.clone().requires_grad_();
  const Tensor y = function(x);
  y.sum().backward();
  return {y.detach(), x.grad()};
}

}  // namespace

Results attention_functions() {
  constexpr int kSteps = 160, kRowSteps = 20;  // 1/40 and 1/2
  Tensor x = torch::linspace(-1.0, 3.0, kSteps + 1, torch::kFloat64);
  const Shape relu2 = shape_of(ops::relu2, x), laplace = shape_of(ops::laplace, x);
  ResultTable table({{"x", "x"},
                     {"relu²", "relu2"},
                     {"laplace", "laplace"},
                     {"relu² slope", "relu2_slope"},
                     {"laplace slope", "laplace_slope"}});
  LineChart values, slopes;
  values.title = "Attention functions";
  slopes.title = "Their slopes";
  values.x_label = slopes.x_label = "score";
  values.y_label = "weight";
  slopes.y_label = "slope";
  const auto curve = [&](const char* name, const Tensor& y) {
    Curve result{name, {}};
    for (int64_t i = 0; i <= kSteps; ++i) result.points.push_back({x[i].item<double>(), y[i].item<double>()});
    return result;
  };
  values.curves = {curve("relu²", relu2.values), curve("laplace", laplace.values)};
  slopes.curves = {curve("relu²", relu2.slopes), curve("laplace", laplace.slopes)};
  const auto add = [&](double place, const Shape& squared, const Shape& smooth, int64_t i) {
    const auto cell = [&](const Tensor& y) { return number_cell("%.4f", y[i].item<double>()); };
    table.add({number_cell("%.4f", place), cell(squared.values), cell(smooth.values), cell(squared.slopes),
               cell(smooth.slopes)});
  };
  const double meet = std::sqrt(0.5);
  const Tensor there = torch::full({1}, meet, torch::kFloat64);
  bool passed = false;
  for (int64_t i = 0; i <= kSteps; i += kRowSteps) {
    const double place = x[i].item<double>();
    if (place > meet && !std::exchange(passed, true))
      add(meet, shape_of(ops::relu2, there), shape_of(ops::laplace, there), 0);
    add(place, relu2, laplace, i);
  }
  return {{{"rows", table}}, {{"attention-functions", values}, {"attention-slopes", slopes}}};
}

}  // namespace mega::bench
