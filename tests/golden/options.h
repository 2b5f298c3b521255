// The released implementation's options, read from a golden file and said in ours.
#pragma once

#include <string>

#include "mega/base/strings.h"
#include "mega/config/model_options.h"
#include "mega/config/models/layer_options.h"
#include "mega/config/recipe/train_options.h"
#include "tests/golden/golden.h"

namespace mega::testing {

// What every file says and no computation depends on.
inline void ignore_descriptions(Golden& golden) {
  golden.ignore({"case", "source_commit", "torch", "module", "note", "loss", "buffers", "batch", "length",
                 "padding", "query_length", "key_length", "f32_noise_out", "f32_noise_grad",
                 "feature_dropout", "kind"});
  for (const char* key :
       {"dropout", "attention_dropout", "hidden_dropout", "activation_dropout", "act_dropout"}) {
    const std::string text = golden.option(key, "0");
    require(text.starts_with("0") && std::stod(text) == 0.0, key, ": ", text,
            ", and random numbers cannot agree");
  }
  const std::string dtype = golden.option("dtype", "float32");
  require(dtype == "float32" || dtype.starts_with("computed in float64, stored as float32"),
          "dtype: expected float32");
  const std::string layout = golden.option("layout", "time x batch x channel");
  golden.ignore({"complex"});  // the last dimension is (re, im)
  require(layout == "time x batch x channel" || layout == "batch x time x channel" ||
              layout == "batch x head x time x channel" || layout == "(batch*heads) x time x channel" ||
              layout == "time x channel, one head of one sequence" || layout == "time x batch" ||
              layout == "in: batch x head x time x channel; out.y: batch x time x head x channel" ||
              golden.has_option("d_model") || golden.has_option("embed_dim") ||
              golden.has_option("num_features") ||
              layout.starts_with("in.image is batch x channel x height x width; "),
          "layout: unknown");
}

inline Activation activation(Golden& golden, const std::string& key) {
  if (!golden.has_option(key)) return Activation::silu;
  return golden.choice<Activation>(key, {{"silu", Activation::silu},
                                         {"swish", Activation::silu},
                                         {"gelu", Activation::gelu},
                                         {"gelu_accurate", Activation::gelu_tanh},
                                         {"gelu_fast", Activation::gelu_tanh},
                                         {"relu", Activation::relu},
                                         {"relu2", Activation::relu2},
                                         {"sigmoid", Activation::sigmoid},
                                         {"linear", Activation::identity}});
}

inline AttentionFunction attention_function(Golden& golden, const std::string& key) {
  return golden.choice<AttentionFunction>(key, {{"softmax", AttentionFunction::softmax},
                                                {"relu2", AttentionFunction::relu2},
                                                {"laplace", AttentionFunction::laplace}});
}

inline PositionKind position(Golden& golden) {
  return golden.choice<PositionKind>("rel_pos_bias",
                                     {{"simple", PositionKind::simple}, {"rotary", PositionKind::rotary}});
}

inline NormKind norm(Golden& golden, const std::string& key = "norm_type") {
  return golden.choice<NormKind>(key, {{"layernorm", NormKind::layer},
                                       {"scalenorm", NormKind::scale},
                                       {"rmsnorm", NormKind::rms},
                                       {"batchnorm", NormKind::batch},
                                       {"syncbatchnorm", NormKind::sync_batch}});
}

inline int64_t truncation(Golden& golden, const std::string& key) {
  return golden.option(key, "None") == "None" ? 0 : golden.number(key);
}

inline EmaOptions ema_options(Golden& golden) {
  EmaOptions options;
  options.dimension = golden.number("ndim");
  options.bidirectional = golden.flag("bidirectional");
  options.truncation = truncation(golden, "truncation");
  return options;
}

// MovingAverageGatedAttention, GatedCrossAttention and NormalizedFeedForwardNetwork, each of which has some
// of them.
inline BlockOptions layer_options(Golden& golden) {
  BlockOptions options;
  options.width = golden.number("embed_dim");
  if (golden.has_option("bidirectional")) options.ema = ema_options(golden);
  if (golden.has_option("hdim")) options.values = golden.number("hdim");
  if (golden.has_option("zdim")) options.shared = golden.number("zdim");
  if (golden.has_option("ffn_hidden_dim")) options.hidden = golden.number("ffn_hidden_dim");
  if (golden.has_option("attention_activation"))
    options.attention = attention_function(golden, "attention_activation");
  if (golden.has_option("rel_pos_bias")) options.position = position(golden);
  if (golden.has_option("max_positions")) options.max_positions = golden.number("max_positions");
  if (golden.has_option("chunk_size")) options.chunk = golden.number("chunk_size");
  options.causal = golden.flag("causal", false);
  options.norm = norm(golden);
  options.prenorm = golden.flag("prenorm");
  options.affine = golden.flag("norm_affine", true);
  options.activation = activation(golden, "activation");
  golden.ignore({"ndim"});  // cross attention is given one and has no moving average
  return options;
}

// What all of LRAModel and SCRawModel have in common.
inline void read_common_options(Golden& golden, InputKind input, SequenceOptions& options) {
  require(golden.number("classifier_layers") == 1, "classifier_layers: only 1 is known here");
  require(activation(golden, "classifier_activation_fn") == Activation::gelu,
          "classifier_activation_fn: not gelu");
  require(!golden.flag("use_p", false) && !golden.flag("adaptive_input", false), "use_p or adaptive_input");
  golden.ignore({"arch", "apply_bert_init", "decoder_embed_dim", "encoder_learned_pos",
                 "max_source_positions", "no_token_positional_embeddings", "sent_loss",
                 "share_encoder_input_output_embed", "pad_index", "vocab_size", "classifier_in_dim"});

  options.input = input;
  if (input == InputKind::tokens) options.vocabulary = golden.number("vocab_size");
  options.classes = golden.number("sentence_class_num");
  options.layers = golden.number("encoder_layers");
  options.head = golden.number("classifier_out_dim");
  options.pooling = golden.choice<Pooling>("sen_rep_type", {{"mp", Pooling::mean}, {"cls", Pooling::cls}});
}

// Those of Mega layers.
inline EncoderClassifierOptions encoder_options(Golden& golden, InputKind input) {
  require(golden.option("layer_type") == "mega", "layer_type: \"", golden.option("layer_type"),
          "\" is not known here");
  golden.ignore({"encoder_attention_heads"});

  EncoderClassifierOptions options;
  read_common_options(golden, input, options);
  options.normalize_embedding = golden.flag("normalize_embedding", false);

  BlockOptions& block = options.block;
  block.width = golden.number("encoder_embed_dim");
  block.values = golden.number("encoder_hidden_dim");
  block.hidden = golden.number("encoder_ffn_embed_dim");
  block.shared = golden.number("z_dim");
  block.ema.dimension = golden.number("n_dim");
  block.ema.truncation = truncation(golden, "truncation_length");
  block.attention = attention_function(golden, "attention_activation_fn");
  block.position = position(golden);
  block.max_positions = golden.number("max_positions");
  block.chunk = golden.number("chunk_size");
  block.norm = norm(golden);
  block.prenorm = golden.flag("encoder_normalize_before");
  block.activation = activation(golden, "activation_fn");
  return options;
}

// Those of Transformer layers, which are also given options of Mega layers and have no use for them.
inline TransformerOptions transformer_options(Golden& golden) {
  require(golden.option("layer_type") == "transformer" && golden.option("input_type") == "text",
          "expected a Transformer that reads text");
  require(!golden.flag("encoder_learned_pos") && !golden.flag("no_token_positional_embeddings"),
          "expected sinusoidal positions");
  golden.ignore({"attention_activation_fn", "encoder_hidden_dim", "max_positions", "n_dim",
                 "normalize_embedding", "rel_pos_bias", "z_dim"});

  TransformerOptions options;
  read_common_options(golden, InputKind::tokens, options);
  options.width = golden.number("encoder_embed_dim");
  options.hidden = golden.number("encoder_ffn_embed_dim");
  options.heads = golden.number("encoder_attention_heads");
  options.activation = activation(golden, "activation_fn");
  // The layers are postnorm all the same.
  options.normalize_embedding = golden.flag("encoder_normalize_before");
  return options;
}

inline std::vector<int64_t> numbers(Golden& golden, const std::string& key) {
  std::vector<int64_t> values;
  if (golden.option(key) == "None") return values;
  for (const std::string& text : split(golden.option(key), ',')) values.push_back(std::stoll(text));
  return values;
}

// What MegaLanguageModel and TransformerLanguageModel share.
inline void read_token_options(Golden& golden, TokenOptions& options) {
  golden.ignore(
      {"arch", "decoder_embed_path", "share_all_embeddings", "pad_index", "eos_index", "tied_params"});
  options.vocabulary = golden.number("vocab_size");
  options.layers = golden.number("decoder_layers");
  options.embedding_width = golden.number("decoder_input_dim");
  options.cutoffs = numbers(golden, "adaptive_softmax_cutoff");
  require(numbers(golden, "adaptive_input_cutoff") == options.cutoffs &&
              golden.flag("adaptive_input") == !options.cutoffs.empty() &&
              golden.flag("tie_adaptive_weights") == !options.cutoffs.empty() &&
              golden.number("adaptive_input_factor") == golden.number("adaptive_softmax_factor"),
          "adaptive input and softmax differ");
  options.band_factor = golden.number("adaptive_softmax_factor");
  options.released_loss = true;
  require(golden.real("adaptive_softmax_dropout") == 0.0, "adaptive_softmax_dropout");
  options.tie_output = golden.flag("share_decoder_input_output_embed") || !options.cutoffs.empty();
  options.tie_projections = golden.flag("tie_adaptive_proj");
  options.scale_embedding = !golden.flag("no_scale_embedding");
}

// MegaLanguageModel.
inline LanguageModelOptions language_options(Golden& golden) {
  LanguageModelOptions options;
  read_token_options(golden, options);
  options.normalize_embedding = golden.flag("normalize_embedding");
  options.affine_final_norm = !golden.flag("no_affine_final_norm");

  BlockOptions& block = options.block;
  block.width = golden.number("decoder_embed_dim");
  block.values = golden.number("decoder_hidden_dim");
  block.hidden = golden.number("decoder_ffn_embed_dim");
  block.shared = golden.number("decoder_z_dim");
  block.ema.dimension = golden.number("decoder_n_dim");
  block.ema.truncation = truncation(golden, "truncation_length");
  block.attention = attention_function(golden, "attention_activation_fn");
  block.position = position(golden);
  block.max_positions = golden.number("max_target_positions");
  block.chunk = golden.number("decoder_chunk_size");
  block.norm = norm(golden, "normalization_type");
  block.prenorm = golden.flag("normalize_before");
  block.activation = activation(golden, "activation_fn");
  return options;
}

// TransformerLanguageModel.
inline TransformerLanguageOptions transformer_language_options(Golden& golden) {
  for (const char* flag : {"add_bos_token", "character_embeddings", "decoder_learned_pos",
                           "cross_self_attention", "no_token_positional_embeddings", "layernorm_embedding"})
    require(!golden.flag(flag), flag, ": not known here");
  require(golden.flag("decoder_normalize_before"), "decoder_normalize_before: only prenorm is known here");
  golden.ignore({"max_target_positions", "tokens_per_sample", "decoder_layers_to_keep", "quant_noise_pq",
                 "quant_noise_pq_block_size", "decoder_layerdrop", "decoder_output_dim",
                 "no_cross_attention"});
  TransformerLanguageOptions options;
  read_token_options(golden, options);
  options.width = golden.number("decoder_embed_dim");
  options.hidden = golden.number("decoder_ffn_embed_dim");
  options.heads = golden.number("decoder_attention_heads");
  options.activation = activation(golden, "activation_fn");
  options.final_norm = !golden.flag("no_decoder_final_norm");
  return options;
}

// The options that MegaModel and TransformerModel share; both languages have the same vocabulary in the
// files.
inline void read_translation_options(Golden& golden, TranslationOptions& options) {
  require(!golden.flag("adaptive_input") && numbers(golden, "adaptive_softmax_cutoff").empty() &&
              !golden.flag("tie_adaptive_weights") &&
              golden.number("decoder_input_dim") == golden.number("decoder_embed_dim"),
          "a translator with adaptive or projected embeddings is not known here");
  golden.ignore({"arch", "decoder_embed_path", "encoder_embed_path", "pad_index", "eos_index", "tied_params",
                 "src_length", "tgt_length", "adaptive_softmax_dropout", "max_source_positions"});
  options.vocabulary = golden.number("vocab_size");
  options.encoder_layers = golden.number("encoder_layers");
  options.decoder_layers = golden.number("decoder_layers");
  options.share_embeddings = golden.flag("share_all_embeddings");
  options.tie_output = golden.flag("share_decoder_input_output_embed");
  options.scale_embedding = !golden.flag("no_scale_embedding");
}

// A number that the file gives for the encoder and for the decoder.
inline int64_t number_of_both(Golden& golden, const std::string& name) {
  const int64_t number = golden.number("encoder_" + name);
  require(golden.number("decoder_" + name) == number, "encoder and decoder differ in ", name);
  return number;
}

// MegaModel.
inline TranslatorOptions translator_options(Golden& golden) {
  TranslatorOptions options;
  read_translation_options(golden, options);
  options.normalize_embedding = golden.flag("normalize_embedding");
  BlockOptions& block = options.block;
  block.width = number_of_both(golden, "embed_dim");
  block.values = number_of_both(golden, "hidden_dim");
  block.hidden = number_of_both(golden, "ffn_embed_dim");
  block.shared = number_of_both(golden, "z_dim");
  block.ema.dimension = number_of_both(golden, "n_dim");
  block.ema.truncation = truncation(golden, "truncation_length");
  block.attention = attention_function(golden, "attention_activation_fn");
  block.position = position(golden);
  block.max_positions = golden.number("max_target_positions");
  require(golden.number("max_source_positions") == block.max_positions, "two numbers of positions");
  block.chunk = number_of_both(golden, "chunk_size");
  block.norm = norm(golden, "normalization_type");
  block.prenorm = golden.flag("normalize_before");
  block.activation = activation(golden, "activation_fn");
  return options;
}

// TransformerModel.
inline TransformerTranslationOptions transformer_translation_options(Golden& golden) {
  for (const char* flag :
       {"cross_self_attention", "no_cross_attention", "no_token_positional_embeddings", "decoder_learned_pos",
        "encoder_learned_pos", "decoder_normalize_before", "encoder_normalize_before", "layernorm_embedding"})
    require(!golden.flag(flag), flag, ": not known here");
  golden.ignore({"max_target_positions", "decoder_layers_to_keep", "encoder_layers_to_keep", "quant_noise_pq",
                 "quant_noise_pq_block_size", "decoder_layerdrop", "encoder_layerdrop",
                 "decoder_output_dim"});
  TransformerTranslationOptions options;
  read_translation_options(golden, options);
  options.width = number_of_both(golden, "embed_dim");
  options.hidden = number_of_both(golden, "ffn_embed_dim");
  options.heads = number_of_both(golden, "attention_heads");
  options.activation = activation(golden, "activation_fn");
  return options;
}

inline TrainOptions adam_options(Golden& golden) {
  TrainOptions options;
  options.beta1 = golden.real("beta1");
  options.beta2 = golden.real("beta2");
  options.epsilon = golden.real("eps");
  options.weight_decay = golden.real("weight_decay");
  options.clip = golden.real("clip_norm");
  return options;
}

// "lr=0.004 warmup=10000 power=1 init=1e-7 total=25000 end=0"
inline TrainOptions schedule_options(const std::string& text) {
  TrainOptions options;
  for (const std::string& part : split(text, ' ')) {
    const size_t equals = part.find('=');
    require(equals != std::string::npos, "a schedule of \"", text, "\"");
    const std::string key = part.substr(0, equals);
    const double value = std::stod(part.substr(equals + 1));
    if (key == "lr") {
      options.learning_rate = value;
    } else if (key == "warmup") {
      options.warmup = static_cast<int64_t>(value);
    } else if (key == "power") {
      options.warmup_power = value;
    } else if (key == "init") {
      options.initial_learning_rate = value;
    } else if (key == "total") {
      options.updates = static_cast<int64_t>(value);
    } else if (key == "end") {
      options.final_learning_rate = value;
    } else {
      fail("a schedule with an unknown \"", key, "\"");
    }
  }
  return options;
}

// "lr=0.002 warmup_epochs=20 epochs=300 warmup_lr=1e-05 min_lr=1e-06", in epochs.
inline TrainOptions epoch_schedule_options(const std::string& text) {
  TrainOptions options;
  std::map<std::string, double> values;
  for (const std::string& part : split(text, ' ')) {
    const size_t equals = part.find('=');
    require(equals != std::string::npos, "a schedule of \"", text, "\"");
    values[part.substr(0, equals)] = std::stod(part.substr(equals + 1));
  }
  require(values.size() == 5, "a schedule of \"", text, "\"");
  options.learning_rate = values.at("lr");
  options.initial_learning_rate = values.at("warmup_lr");
  options.final_learning_rate = values.at("min_lr");
  options.warmup = static_cast<int64_t>(values.at("warmup_epochs"));
  options.updates = static_cast<int64_t>(values.at("epochs"));
  return options;
}

}  // namespace mega::testing
