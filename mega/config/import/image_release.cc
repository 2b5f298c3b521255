#include "mega/config/import/image_release.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/import/released_words.h"
#include "mega/config/import/stand_in_names.h"

namespace mega {
namespace {

constexpr const char* kPatches = "patch_embed.pemb.proj.weight";

// The side of a square of so many.
int64_t side_of(int64_t area, const std::string& where, const char* what) {
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(area))));
  require(side > 0 && side * side == area, where, ": model: ", area, " ", what, " are no square");
  return side;
}

}  // namespace

ModelOptions image_release_options(const SavedArguments& arguments, const StateDict& state) {
  const std::string mega = "blocks.0.mega_layer.";
  ImageClassifierOptions options;
  BlockOptions& block = options.block;
  options.layers = state.count("blocks.", ".mega_layer.gamma");
  require(options.layers > 0, state.where(), ": model: no tensors of ", mega, "*");
  options.classes = state.size("head.weight", 0);
  options.representation = state.has("pre_logits.fc.weight") ? state.size("pre_logits.fc.weight", 0) : 0;
  options.positions = state.has("pos_embed");

  block.width = state.size(mega + "h_proj.weight", 0);
  block.values = state.size(mega + "v_proj.weight", 0);
  block.shared = state.size(mega + "gamma", 1);
  block.ema.dimension = state.size(mega + "move.delta", 1);
  block.hidden = state.size("blocks.0.nffn.fc1.weight", 0);
  block.norm = released_norm(arguments.text("norm_type").value_or("layernorm"), arguments.where("norm_type"));
  block.dropout = arguments.number("drop").value_or(0);
  block.drop_path = arguments.number("drop_path").value_or(0);

  options.patch_form =
      meaning<PatchForm>(arguments.text("patch_impl").value_or("conv"), arguments.where("patch_impl"),
                         {{"conv", PatchForm::convolution}, {"linear", PatchForm::linear}});
  if (options.patch_form == PatchForm::convolution) {
    options.channels = state.size(kPatches, 1);
    options.patch = state.size(kPatches, 2);
  } else {
    options.patch = side_of(state.size(kPatches, 1) / options.channels, state.where(), "pixels of a patch");
  }
  const std::string bias = mega + "rel_pos_bias.rel_pos_bias";
  const int64_t patches = options.positions ? state.size("pos_embed", 1) : (state.size(bias, 0) + 1) / 2;
  block.max_positions = patches;
  options.image = side_of(patches, state.where(), "patches") * options.patch;
  return {options};
}

ImportedSignature image_release_signature(const ImageOptions& options, const DataFiles& files) {
  require(files.dictionaries.empty() && files.codes.empty(),
          "--dict, --codes: are for texts; name the classes of pictures with --classes");
  ImageInput input;
  input.height = options.rows();
  input.width = options.columns();
  input.channels = options.channels;
  if (options.channels == 3) {
    input.means = {0.485, 0.456, 0.406};
    input.deviations = {0.229, 0.224, 0.225};
  }
  input.filter = ImageFilter::bicubic;
  input.crop = 0.875;
  ImportedSignature result;
  result.signature.input.input = input;
  if (files.classes.empty()) {
    result.signature.classes = numbers_as_names(options.classes);
    result.notes.push_back("classes are called 0 to " + std::to_string(options.classes - 1) +
                           ": name a file of their names, in the order of the outputs, with --classes");
  } else {
    result.signature.classes = read_class_names(files.classes, options.classes);
  }
  return result;
}

}  // namespace mega
