// Golden files of the release for images: its EMA, its block, the model, and the baselines beside it.
#pragma once

#include <set>
#include <string>

#include "mega/baselines/resnet.h"
#include "mega/baselines/vision_transformer.h"
#include "mega/models/image_classifier.h"
#include "mega/nn/mega_block.h"
#include "tests/golden/golden.h"
#include "tests/golden/options.h"
#include "tests/golden/streams.h"

namespace mega::testing {

// MultiHeadEMA of the image release.
inline EmaOptions image_ema_options(Golden& golden) {
  EmaOptions options = ema_options(golden);
  options.shift = golden.flag("shift");
  options.exchanged = true;
  return options;
}

// MegaLayer: always prenorm and bidirectional.
inline BlockOptions image_layer_options(Golden& golden) {
  for (const char* key : {"drop_path", "act_dropout"})
    require(!golden.has_option(key) || golden.real(key) == 0.0, key, ": not 0");
  BlockOptions block = image_block();
  block.width = golden.number("embed_dim");
  block.values = golden.number("hidden_dim");
  block.shared = golden.number("z_dim");
  block.hidden = golden.number("ffn_embed_dim");
  block.ema.dimension = golden.number("n_dim");
  block.ema.truncation = truncation(golden, "truncation");
  block.attention = attention_function(golden, "attention_activation");
  block.position = golden.flag("no_rel_pos_bias") ? PositionKind::none : PositionKind::simple;
  block.max_positions = golden.number("max_positions");
  block.chunk = golden.number("chunk_size");
  block.norm = norm(golden);
  block.activation = activation(golden, "activation");
  return block;
}

inline void read_image_options(Golden& golden, ImageOptions& options) {
  golden.ignore({"no_weight_decay", "drop_path_rates"});
  for (const char* key : {"drop_rate", "attn_drop_rate"})
    require(golden.real(key) == 0.0, key, ": random numbers cannot agree");
  options.image = golden.number("img_size");
  options.channels = golden.number("in_chans");
  options.classes = golden.number("num_classes");
}

inline int64_t representation(Golden& golden) {
  return golden.option("representation_size") == "None" ? 0 : golden.number("representation_size");
}

// VisionMEGA.
inline ImageClassifierOptions image_classifier_options(Golden& golden) {
  ImageClassifierOptions options;
  read_image_options(golden, options);
  options.patch = golden.number("patch_size");
  options.patch_form = golden.choice<PatchForm>(
      "patch_impl", {{"conv", PatchForm::convolution}, {"linear", PatchForm::linear}});
  options.positions = !golden.flag("no_pos_emb");
  options.layers = golden.number("depth");
  options.representation = representation(golden);
  options.block.width = golden.number("embed_dim");
  options.block.values = golden.number("hidden_dim");
  options.block.hidden = golden.number("ffn_hidden_dim");
  options.block.shared = golden.number("zdim");
  options.block.ema.dimension = golden.number("ndim");
  options.block.norm = norm(golden);
  options.block.drop_path = golden.real("drop_path_rate");
  return options;
}

// VisionTransformer and DistilledVisionTransformer.
inline VisionTransformerOptions vision_transformer_options(Golden& golden) {
  require(golden.real("norm_eps") == 1e-6 && golden.option("activation") == "gelu (erf)",
          "norm_eps or activation: not the released one");
  VisionTransformerOptions options;
  read_image_options(golden, options);
  options.patch = golden.number("patch_size");
  options.layers = golden.number("depth");
  options.width = golden.number("embed_dim");
  options.hidden = static_cast<int64_t>(golden.real("mlp_ratio") * static_cast<double>(options.width));
  options.heads = golden.number("num_heads");
  options.qkv_bias = golden.flag("qkv_bias");
  options.representation = representation(golden);
  options.distilled = golden.option("kind") == "DistilledVisionTransformer";
  options.drop_path = golden.real("drop_path_rate");
  return options;
}

// ResNet of "(4, 6)" channels.
inline std::vector<int64_t> tuple(Golden& golden, const std::string& key) {
  const std::string& text = golden.option(key);
  require(text.starts_with("(") && text.ends_with(")"), key, ": expected numbers in brackets");
  std::vector<int64_t> values;
  for (const std::string& number : split(text.substr(1, text.size() - 2), ','))
    values.push_back(std::stoll(number));
  return values;
}

// The same parameters are outside weight decay.
inline void check_decay(Golden& golden, const ModelKind& kind) {
  std::set<std::string> expected, actual;
  for (const std::string& name : split(golden.option("no_weight_decay"), ',')) expected.insert(name);
  for (const TensorInfo& tensor : kind.tensors())
    if (tensor.is_parameter && !tensor.decays) actual.insert(tensor.name);
  EXPECT_EQ(actual, expected);
}

// Outputs, gradients and the losses of the targets.
inline void check_pictures(Golden& golden, const Outputs& outputs) {
  golden.check(outputs);
  const Tensor scores = outputs.at("y").detach().log_softmax(1);
  golden.aux("soft_target_loss", -(golden.input("soft_target") * scores).sum(1).mean().reshape({1}));
  golden.aux("ce_loss", torch::nll_loss(scores, golden.input("target")).reshape({1}));
}

inline void image_ema_case(Golden& golden) {
  nn::Ema ema(golden.number("embed_dim"), image_ema_options(golden));
  golden.load(*ema);
  golden.check({{"y", swap(ema->forward(swap(golden.input("x"))))}});
  const auto [q, b, c] = ema->coefficients();
  const Tensor lags = torch::arange(golden.take("aux.kernel").size(1), q.options().requires_grad(false));
  golden.aux("kernel", ((c * b).unsqueeze(2) * q.unsqueeze(2).pow(lags)).sum(1));
}

inline void image_layer_case(Golden& golden) {
  nn::MegaBlock block(image_layer_options(golden));
  golden.load(*block);
  const Tensor x = golden.input("x");
  golden.check({{"y", swap(block->forward(swap(x)))}});
  const torch::NoGradGuard guard;
  const Tensor input = block->mega_layer->norm->forward(swap(x));
  golden.aux("norm", swap(input));
  golden.aux("move", swap(block->mega_layer->move->forward(input)));
  golden.aux("v_proj", swap(block->mega_layer->v_proj->forward(input)));
  golden.aux("mega_layer", swap(block->mega_layer->forward(swap(x))));
}

inline void image_model_case(Golden& golden) {
  const ImageClassifierOptions options = image_classifier_options(golden);
  models::ImageClassifier model(options);
  golden.load(*model);
  check_decay(golden, options);
  for (const auto& part : model->named_modules()) {
    auto* path = part.value()->as<nn::DropPath>();
    const std::string holder = part.key().substr(0, part.key().rfind('.'));
    if (path != nullptr) path->fixed = golden.optional_input("drop_path." + holder);
  }
  const Tensor pictures = golden.input("image");
  golden.aux("patch_embed", model->patch_embed->forward(pictures));
  const Tensor features = model->features(pictures);
  check_pictures(golden, {{"y", model->head->forward(features)}});
  golden.aux("features", features);
}

inline void vision_transformer_case(Golden& golden) {
  const VisionTransformerOptions options = vision_transformer_options(golden);
  baselines::VisionTransformer model(options);
  golden.load(*model);
  check_decay(golden, options);
  for (size_t i = 0; i < model->blocks.size(); ++i) {
    const std::string block = "drop_path.blocks." + std::to_string(i);
    model->blocks[i]->drop_path1->fixed = golden.optional_input(block + ".attn");
    model->blocks[i]->drop_path2->fixed = golden.optional_input(block + ".mlp");
  }
  const Tensor pictures = golden.input("image");
  const std::vector<Tensor> said = model->answers(pictures);
  Outputs outputs = {{"y", said[0]}};
  if (options.distilled) outputs["y_dist"] = said[1];
  check_pictures(golden, outputs);
  const torch::NoGradGuard guard;
  golden.aux("y_eval", model->forward(pictures));
}

inline void resnet_case(Golden& golden) {
  golden.ignore({"no_weight_decay"});
  ResNetOptions options;
  const Tensor pictures = golden.input("image");
  options.image = pictures.size(2);
  options.channels = golden.number("in_chans");
  options.classes = golden.number("num_classes");
  options.stem = golden.number("stem");
  options.widths = tuple(golden, "channels");
  options.blocks = tuple(golden, "layers");
  baselines::ResNet model(options);
  golden.load(*model);
  check_decay(golden, options);
  const Tensor features = model->features(pictures);
  check_pictures(golden, {{"y", model->fc->forward(features)}});
  golden.aux("global_pool", features);
}

}  // namespace mega::testing
