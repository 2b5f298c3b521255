#include "mega/config/models/s4_options.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/config/cost.h"
#include "mega/config/models/block_tensors.h"

namespace mega {
namespace {

constexpr ModelPart kPart = ModelPart::recurrence;

double real(int64_t n) { return static_cast<double>(n); }

int64_t directions(const StateSpaceOptions& options) { return options.bidirectional ? 2 : 1; }

// Blocks of layers NAME.blocks, their norms NAME.norms, feed-forwards and the last norm.
template <class Layer>
void add_layer_tensors(TensorList& list, const std::string& name, const Layer& options, int64_t layers) {
  const int64_t d = options.width;
  for (int64_t i = 0; i < layers; ++i) {
    const std::string block = name + ".blocks." + std::to_string(i);
    list.add(block + ".layer.D", {1, d}, kPart);
    options.add_kernel_tensors(list, block + ".layer.kernel");
    list.add_linear(block + ".output_linear.0", options.glu ? 2 * d : d, d, kPart);
    add_norm_tensors(list, name + ".norms." + std::to_string(i), d, options.norm, true);
  }
  if (options.prenorm) add_norm_tensors(list, name + ".final_norm", d, options.norm, true);
}

// Per token: the convolution by transforms of twice the length, and the output map. Making the kernels is
// work for a batch, whatever its size, and not counted.
double layer_multiply_adds(const StateSpaceOptions& options, int64_t length) {
  const double d = real(options.width), map = (options.glu ? 2 : 1) * d * d;
  const double transforms = 2 * d * 2 * std::log2(2.0 * real(length));
  return map + transforms;
}

// Numbers that a layer keeps for its backward pass, per token: the input of its norm and that of the
// convolution, the convolution's output, and the output map's before its gate.
double kept_by_layer(const StateSpaceOptions& options) { return (options.glu ? 5 : 3) * real(options.width); }

// Alive for a moment in its backward pass, per token: gradients of the output map and of its input, and the
// input once more, activated.
double moment_of_layer(const StateSpaceOptions& options) {
  return (options.glu ? 4 : 3) * real(options.width);
}

// Parameters of a layer of width d: a d^2 + b d.
struct LayerSize {
  double squares, channels;
};
LayerSize layer_size(const StateSpaceOptions& options, double kernel_vectors) {
  return {options.glu ? 2.0 : 1.0, kernel_vectors * real(options.state)};
}

// The width that gives a layer so many parameters, a multiple of 8.
int64_t width_like(double weights, const LayerSize& size) {
  const double root = std::sqrt(size.channels * size.channels + 4 * size.squares * weights);
  const double width = (root - size.channels) / (2 * size.squares);
  return std::max<int64_t>(8, 8 * std::llround(width / 8));
}

// Vectors of N numbers that each channel has.
double kernel_vectors(const S4LayerOptions& options) {
  return options.release == S4Release::v1 ? 4.0 : 3.0 + real(directions(options));
}
double kernel_vectors(const S4DLayerOptions& options) { return 2.0 + real(directions(options)); }

// S4's kernel is made for its own length, and cut.
double kernel_positions(const S4LayerOptions& options, int64_t length) {
  return real(std::max(length, options.kernel_length));
}
double kernel_positions(const S4DLayerOptions&, int64_t length) { return real(length); }

void set_length(S4LayerOptions& options, int64_t length) {
  if (length > 0) options.kernel_length = length;
}
void set_length(S4DLayerOptions&, int64_t) {}

void lengthen(S4LayerOptions& options, int64_t length) {
  options.kernel_length = std::max(options.kernel_length, length);
}
void lengthen(S4DLayerOptions&, int64_t) {}

}  // namespace

void StateSpaceOptions::check_layer() const {
  require(state % 2 == 0, "state: eigenvalues come in pairs, so it must be even, not ", state);
  require(copies <= width, "copies: ", copies, " systems for ", width, " channels");
  require(min_step <= max_step, "min_step: ", min_step, " is more than max_step, ", max_step);
}

void S4LayerOptions::check_layer() const {
  StateSpaceOptions::check_layer();
  require(
      release != S4Release::v1 || (!bidirectional && step == StepForm::exp),
      "release: v1 sees the past alone, and its steps are exponentials; set bidirectional = false and step = "
      "exp");
}

// Complex tensors have a last dimension of (real, imaginary).
void S4LayerOptions::add_kernel_tensors(TensorList& list, const std::string& name) const {
  const int64_t n = pairs(), s = systems();
  const auto apart = [&](const std::string& tensor, std::vector<int64_t> shape) {
    list.add(name + tensor, std::move(shape), kPart);
    list.learn_apart(state_learning_rate);
  };
  if (release == S4Release::v1) {
    apart(".w", {n, 2});
    apart(".B", {width, 2, n, 2});
    list.add(name + ".C", {width, 2, n, 2}, kPart);
    return apart(".log_dt", {width});
  }
  list.add(name + ".C", {directions(*this), width, n, 2}, kPart);
  apart(".inv_dt", {width, 1});
  apart(".A_real", {s, n});
  apart(".A_imag", {s, n});
  apart(".B", {1, s, n, 2});
  apart(".P", {1, s, n, 2});
}

void S4DLayerOptions::add_kernel_tensors(TensorList& list, const std::string& name) const {
  const int64_t n = pairs(), s = systems();
  const auto apart = [&](const std::string& tensor, std::vector<int64_t> shape) {
    list.add(name + tensor, std::move(shape), kPart);
    list.learn_apart(state_learning_rate);
  };
  list.add(name + ".C", {directions(*this), width, n, 2}, kPart);
  apart(".inv_dt", {width, 1});
  apart(".A_real", {s, n});
  apart(".A_imag", {s, n});
  apart(".B", {1, s, n, 2});
}

// What making the kernel of a layer keeps, for each position of a sequence: sums at half as many frequencies.
double S4LayerOptions::kernel_activations(int64_t) const { return real(width * (8 + 4 * directions(*this))); }
// The kernels; √L coarse and √L fine powers of each pair of states, with what these are made of; and the two
// factors of which each kernel is the product.
double S4DLayerOptions::kernel_activations(int64_t length) const {
  const double kernels = real(directions(*this)), powers = real(state) / std::sqrt(real(length));
  return real(width) * (kernels + (5 + 2 * kernels) * powers);
}

template <class Layer>
void StateSpaceClassifierOptions<Layer>::check() const {
  SequenceOptions::check();
  Layer::check_layer();
}

template <class Layer>
std::vector<TensorInfo> StateSpaceClassifierOptions<Layer>::tensors() const {
  const std::string encoder = "encoder.encoder";
  TensorList list;
  add_head_tensors(list, *this, documents, this->width);
  add_input_embedding_tensors(list, encoder + ".embed_tokens", *this, this->width);
  add_layer_tensors<Layer>(list, encoder, *this, layers);
  return list.take();
}

template <class Layer>
double StateSpaceClassifierOptions<Layer>::multiply_adds(int64_t length) const {
  return real(layers) * layer_multiply_adds(*this, length);
}

template <class Layer>
double StateSpaceClassifierOptions<Layer>::activation_bytes(int64_t length, int64_t batch) const {
  const double tokens = real(length) * real(batch);
  const double kept = real(layers * documents) * kept_by_layer(*this) + real(this->width);
  const double kernels = real(layers * documents) * Layer::kernel_activations(length);
  return 4.0 * (tokens * (kept + moment_of_layer(*this)) + kernel_positions(*this, length) * kernels);
}

// As many layers as Mega has blocks, each of the width that gives it as many parameters.
template <class Layer>
bool StateSpaceClassifierOptions<Layer>::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const EncoderClassifierOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<SequenceOptions&>(*this) = *mega;
  documents = mega->document_count();
  this->dropout = mega->block.dropout;
  this->feature_dropout = mega->block.feature_dropout;
  this->width = width_like(real(block_weights(mega->block)), layer_size(*this, kernel_vectors(*this)));
  if (documents == 1) head = 0;
  set_length(*this, mega->max_length());
  return true;
}

template <class Layer>
void StateSpaceClassifierOptions<Layer>::make_for(int64_t length) {
  lengthen(*this, length);
}

template <class Layer>
StateSpaceLanguageOptions<Layer>::StateSpaceLanguageOptions() {
  this->width = 1024;
  this->copies = 1;
  this->bidirectional = false;
  this->norm = NormKind::layer;
  set_length(*this, chunk);
}

template <class Layer>
void StateSpaceLanguageOptions<Layer>::check() const {
  Layer::check_layer();
  require(!this->bidirectional,
          "bidirectional: a language model predicts what comes next, so it must not see it");
  require(this->norm != NormKind::batch && this->norm != NormKind::sync_batch,
          "norm: statistics of a batch see what comes next; use layer");
  check_token_layers(*this, this->width);
}

template <class Layer>
std::vector<TensorInfo> StateSpaceLanguageOptions<Layer>::tensors() const {
  TensorList list;
  add_token_tensors(list, *this, this->width);
  add_layer_tensors<Layer>(list, "decoder", *this, layers * mixers);
  for (int64_t i = 0; hidden > 0 && i < layers; ++i) {
    const std::string name = "decoder.feed_forwards." + std::to_string(i);
    add_norm_tensors(list, name + ".norm", this->width, this->norm, true);
    list.add_linear(name + ".fc1", hidden, this->width, ModelPart::feed_forward);
    list.add_linear(name + ".fc2", this->width, hidden, ModelPart::feed_forward);
  }
  return list.take();
}

template <class Layer>
double StateSpaceLanguageOptions<Layer>::multiply_adds(int64_t length) const {
  const double block = real(mixers) * layer_multiply_adds(*this, length) + 2 * real(this->width * hidden);
  return real(layers) * block + output_multiply_adds(*this, this->width);
}

template <class Layer>
double StateSpaceLanguageOptions<Layer>::activation_bytes(int64_t length, int64_t batch) const {
  const double tokens = real(length) * real(batch), d = real(this->width), f = real(hidden);
  const double feed_forward = hidden > 0 ? 3 * d + f : 0.0;
  const double kept = real(layers) * (real(mixers) * kept_by_layer(*this) + feed_forward) + 2 * d;
  const double kernels =
      kernel_positions(*this, length) * real(layers * mixers) * Layer::kernel_activations(length);
  const double moment = std::max(moment_of_layer(*this), hidden > 0 ? 2 * f + d : 0.0);
  return 4.0 * (tokens * kept + kernels) +
         std::max(4.0 * tokens * moment, output_bytes(*this, this->width, length * batch));
}

// Mega's width, which embedding and output share, and two layers in each block: the feed-forward takes the
// rest of a Mega block's parameters.
template <class Layer>
bool StateSpaceLanguageOptions<Layer>::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const LanguageModelOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<TokenOptions&>(*this) = *mega;
  const double d = real(mega->block.width);
  this->width = mega->block.width;
  this->dropout = mega->block.dropout;
  const LayerSize size = layer_size(*this, 1.0);  // one copy of A and B; C alone is each channel's
  const double layer = size.squares * d * d + size.channels * d, block = real(block_weights(mega->block));
  mixers = block >= 2.5 * layer ? 2 : 1;
  hidden = std::max<int64_t>(0, std::llround((block - real(mixers) * layer) / (2 * d)));
  if (mega->block.chunk > 0) chunk = mega->block.chunk;
  set_length(*this, chunk);
  return true;
}

template struct StateSpaceClassifierOptions<S4LayerOptions>;
template struct StateSpaceClassifierOptions<S4DLayerOptions>;
template struct StateSpaceLanguageOptions<S4LayerOptions>;
template struct StateSpaceLanguageOptions<S4DLayerOptions>;

}  // namespace mega
