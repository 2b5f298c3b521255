#include "mega/config/models/image_options.h"

#include <algorithm>
#include <array>

#include "mega/base/error.h"
#include "mega/config/cost.h"
#include "mega/config/models/block_tensors.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

}  // namespace

double patch_count(int64_t length, int64_t patch) {
  return std::max(1.0, real(length) / real(patch * patch));
}

void add_patch_tensors(TensorList& list, const ImageOptions& options, int64_t patch, PatchForm form,
                       int64_t width) {
  const std::string name = "patch_embed.pemb.proj";
  constexpr ModelPart kPart = ModelPart::embedding;
  if (form == PatchForm::linear) return list.add_linear(name, width, options.channels * patch * patch, kPart);
  list.add(name + ".weight", {width, options.channels, patch, patch}, kPart);
  list.add(name + ".bias", {width}, kPart);
}

std::vector<TensorInfo> without_decay_of_vectors(std::vector<TensorInfo> tensors) {
  constexpr std::array kLearnedTokens = {"pos_embed", "cls_token", "dist_token"};
  for (TensorInfo& tensor : tensors) {
    const bool scale = tensor.name.ends_with(".weight") && tensor.shape.size() == 1;
    const bool token =
        std::find(kLearnedTokens.begin(), kLearnedTokens.end(), tensor.name) != kLearnedTokens.end();
    tensor.decays = !tensor.name.ends_with(".bias") && !scale && !token;
  }
  return tensors;
}

StackOptions ImageClassifierOptions::stack() const {
  StackOptions stack{.block = block, .layers = layers, .drop_embedding = false, .blocks = "blocks"};
  stack.block.max_positions = grid().size();
  return stack;
}

void ImageClassifierOptions::check() const {
  validate(stack().block);
  require(block.prenorm,
          "block.prenorm: an image classifier normalises before each sublayer and after the last block; set "
          "block.prenorm = true");
  require(!block.causal, "block.causal: a picture has no past; set block.causal = false");
}

std::vector<TensorInfo> ImageClassifierOptions::tensors() const {
  const int64_t d = block.width;
  TensorList list;
  if (positions) list.add("pos_embed", {1, grid().size(), d}, ModelPart::positions);
  add_patch_tensors(list, *this, patch, patch_form, d);
  add_stack_tensors(list, "", stack());
  list.add_linear("out_proj.fc", d, d, ModelPart::head);
  if (representation > 0) list.add_linear("pre_logits.fc", representation, d, ModelPart::head);
  list.add_linear("head", classes, representation > 0 ? representation : d, ModelPart::head);
  return without_decay_of_vectors(list.take());
}

double ImageClassifierOptions::multiply_adds(int64_t length) const {
  const double tokens = patch_count(length, patch), d = real(block.width), r = real(representation);
  const double embedding = real(channels * patch * patch) * d;
  const double blocks = real(layers) * block_multiply_adds(block, static_cast<int64_t>(tokens));
  const double head = r > 0 ? d * r + r * real(classes) : d * real(classes);
  return (tokens * (embedding + blocks + d * d) + head) / real(length);
}

double ImageClassifierOptions::activation_bytes(int64_t length, int64_t batch) const {
  const BlockActivations numbers = block_activations(block);
  const double d = real(block.width);
  // Beside the blocks: the patches, the final norm's input and output, and the output layer before its
  // activation.
  const double ends = real(channels * patch * patch) + 3 * d;
  return 4.0 * patch_count(length, patch) * real(batch) *
         (real(layers) * numbers.kept + ends + numbers.moment);
}

}  // namespace mega
