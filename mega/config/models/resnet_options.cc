#include "mega/config/models/resnet_options.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "mega/base/error.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

int64_t halved(int64_t size) { return (size + 1) / 2; }

// One convolution with its batch norm.
struct Convolution {
  std::string name, norm;
  int64_t outputs, inputs, kernel;
  double pixels;  // of its output
  bool active;    // a ReLU of the same size follows
};

std::vector<Convolution> convolutions(const ResNetOptions& options) {
  int64_t rows = halved(options.rows()), columns = halved(options.columns()), inputs = options.stem;
  const auto pixels = [&] { return real(rows) * real(columns); };
  std::vector<Convolution> all = {{"conv1", "bn1", options.stem, options.channels, 7, pixels(), true}};
  rows = halved(rows), columns = halved(columns);  // the max pool
  for (size_t stage = 0; stage < options.blocks.size(); ++stage) {
    const int64_t width = options.widths[stage], outputs = ResNetOptions::kExpansion * width;
    for (int64_t i = 0; i < options.blocks[stage]; ++i) {
      const std::string block = "layer" + std::to_string(stage + 1) + "." + std::to_string(i) + ".";
      const double before = pixels();
      if (i == 0 && stage > 0) rows = halved(rows), columns = halved(columns);
      all.push_back({block + "conv1", block + "bn1", width, inputs, 1, before, true});
      all.push_back({block + "conv2", block + "bn2", width, width, 3, pixels(), true});
      all.push_back({block + "conv3", block + "bn3", outputs, width, 1, pixels(), true});
      if (i == 0)
        all.push_back({block + "downsample.0", block + "downsample.1", outputs, inputs, 1, pixels(), false});
      inputs = outputs;
    }
  }
  return all;
}

int64_t parameter_count(const ResNetOptions& options) {
  int64_t count = 0;
  for (const TensorInfo& tensor : options.tensors())
    if (tensor.is_parameter) count += tensor.elements();
  return count;
}

}  // namespace

void ResNetOptions::check() const {
  require(!blocks.empty() && blocks.size() == widths.size(),
          "blocks: a number for each stage, as in widths: ", blocks.size(), " and ", widths.size());
}

std::vector<TensorInfo> ResNetOptions::tensors() const {
  TensorList list;
  for (const Convolution& one : convolutions(*this)) {
    list.add(one.name + ".weight", {one.outputs, one.inputs, one.kernel, one.kernel},
             ModelPart::convolutions);
    list.add_layer_norm(one.norm, one.outputs);
    list.add_buffer(one.norm + ".running_mean", {one.outputs}, ModelPart::norms);
    list.add_buffer(one.norm + ".running_var", {one.outputs}, ModelPart::norms);
    list.add_buffer(one.norm + ".num_batches_tracked", {}, ModelPart::norms, DType::I64);
  }
  list.add_linear("fc", classes, kExpansion * widths.back(), ModelPart::head);
  return without_decay_of_vectors(list.take());
}

// A pixel costs the same in a picture of any size.
double ResNetOptions::multiply_adds(int64_t) const {
  double sum = real(classes * kExpansion * widths.back());
  for (const Convolution& one : convolutions(*this))
    sum += real(one.outputs * one.inputs * one.kernel * one.kernel) * one.pixels;
  return sum / real(max_length());
}

double ResNetOptions::activation_bytes(int64_t length, int64_t batch) const {
  double kept = 0.0, largest = 0.0;
  for (const Convolution& one : convolutions(*this)) {
    const double numbers = real(one.outputs) * one.pixels;
    kept += (one.active ? 2 : 1) * numbers;  // the input of its norm, and the ReLU's output
    largest = std::max(largest, numbers);
  }
  // For a moment, gradients of a convolution's output and of its norm's.
  const double scale = real(length) / real(max_length());
  return 4.0 * real(batch) * scale * (kept + 2 * largest);
}

// ResNet-50's proportions, at the width that has as many parameters; the last stage makes up the difference.
bool ResNetOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const ImageClassifierOptions*>(&other);
  if (mega == nullptr) return false;
  int64_t wanted = 0;
  for (const TensorInfo& tensor : mega->tensors())
    if (tensor.is_parameter) wanted += tensor.elements();
  static_cast<ImageOptions&>(*this) = *mega;
  blocks = {3, 4, 6, 3};
  const auto set_width = [&](int64_t width) {
    stem = width;
    widths = {width, 2 * width, 4 * width, 8 * width};
  };
  int64_t width = 1;
  for (set_width(width + 1); parameter_count(*this) <= wanted && width < 1024; set_width(width + 1)) ++width;
  set_width(width);
  int64_t nearest = std::abs(parameter_count(*this) - wanted);
  for (int64_t last = widths.back(); last < 16 * width; ++last) {
    widths.back() = last + 1;
    const int64_t distance = std::abs(parameter_count(*this) - wanted);
    if (distance > nearest) {
      widths.back() = last;
      break;
    }
    nearest = distance;
  }
  return true;
}

}  // namespace mega
