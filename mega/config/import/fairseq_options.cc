#include "mega/config/import/fairseq_options.h"

#include <algorithm>
#include <array>
#include <string>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/import/released_words.h"

namespace mega {
namespace {

enum class Family { sequence, speech, language, translation };

// What an architecture of the released program sets unless it is told otherwise.
struct Architecture {
  std::string_view name;
  Family family;
  std::string_view attention;
  int64_t chunk, truncation, max_positions;
  bool prenorm = false;
};

constexpr auto kArchitectures = std::to_array<Architecture>({
    {"mega_lra_listop", Family::sequence, "relu2", -1, 1024, 2002},
    {"mega_lra_imdb", Family::sequence, "relu2", -1, 1024, 4002},
    {"mega_lra_aan", Family::sequence, "relu2", -1, 1024, 4002},
    {"mega_lra_cifar10", Family::sequence, "relu2", 1024, 1024, 1024},
    {"mega_lra_pf32", Family::sequence, "relu2", 1024, 1024, 1024},
    {"mega_lra_pf128", Family::sequence, "relu2", 16384, 4096, 16384},
    {"sc_raw", Family::speech, "laplace", 1000, 1000, 16000, true},
    {"mega_sc_raw", Family::speech, "laplace", 1000, 1000, 16000, true},
    {"mega_sc_raw_base", Family::speech, "laplace", 1000, 1000, 16000, true},
    {"mega_sc_raw_big", Family::speech, "laplace", 1000, 1000, 16000, true},
    {"mega_lm", Family::language, "softmax", -1, 2048, 1024},
    {"mega_lm_big", Family::language, "softmax", -1, 2048, 1024},
    {"mega_lm_adaptive_big", Family::language, "softmax", -1, 2048, 1024},
    {"mega_lm_wiki103", Family::language, "softmax", -1, 2048, 1024},
    {"mega_lm_adaptive_base", Family::language, "softmax", -1, 2048, 1024},
    {"mega_lm_enwik8_base", Family::language, "softmax", -1, 2048, 1024},
    {"mega_lm_enwik8_large", Family::language, "softmax", -1, 2048, 1024},
    {"mega", Family::translation, "softmax", -1, 1024, 1024},
    {"mega_wmt_en_de", Family::translation, "softmax", -1, 1024, 1024},
    {"mega_wmt_en_de_big", Family::translation, "softmax", -1, 1024, 1024},
});

class Translation {
 public:
  Translation(const SavedArguments& arguments, const StateDict& state)
      : arguments_(arguments), state_(state), architecture_(find_architecture()) {}

  ModelOptions run() {
    refuse("use_p", arguments_.flag("use_p").value_or(false), "another kind of prediction head");
    switch (architecture_.family) {
      case Family::sequence:
      case Family::speech:
        return classifier();
      case Family::language:
        return {language_model()};
      case Family::translation:
        return {translator()};
    }
    fail("no such family of models");
  }

 private:
  const Architecture& find_architecture() const {
    const std::string name = arguments_.text("arch").value_or("");
    const std::string layer = arguments_.text("layer_type").value_or("mega");
    require(layer == "mega", arguments_.where("layer_type"), ": layers of type ", in_quotes(layer),
            ", expected \"mega\": other models of the program cannot be imported");
    const auto* found = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                     [&](const Architecture& known) { return known.name == name; });
    require(found != kArchitectures.end(), arguments_.where("arch"), ": ", in_quotes(name),
            " is no Mega model that this version knows");
    return *found;
  }

  void refuse(const char* name, bool wrong, const char* what) const {
    require(!wrong, arguments_.where(name), ": ", what, ", which our models do not have");
  }

  // Where the arguments say nothing, the file's shapes do.
  int64_t size(const std::string& name, const std::string& tensor, size_t dimension) const {
    const auto given = arguments_.integer(name);
    return given ? *given : state_.size(tensor, dimension);
  }

  // A file has every block that its arguments speak of; that is checked before a table of them is made.
  int64_t layers(const std::string& name, const std::string& stack) const {
    const int64_t there = state_.count(stack + ".layers.", ".mega_layer.gamma");
    require(there > 0, state_.where(), ": model: no tensors of ", stack, ".layers.0.mega_layer");
    const int64_t wanted = arguments_.integer(name).value_or(there);
    require(wanted == there, arguments_.where(name), ": ", wanted, " blocks, but the model has tensors of ",
            there);
    return there;
  }

  NormKind norm(const char* name, const std::string& layer) const {
    if (const auto given = arguments_.text(name)) return released_norm(*given, arguments_.where(name));
    const std::string inner = layer + ".mega_layer.norm.norm.";
    if (state_.has(inner + "scalar")) return NormKind::scale;
    if (state_.has(inner + "running_mean")) return NormKind::batch;
    return state_.has(inner + "bias") ? NormKind::layer : NormKind::rms;
  }

  PositionKind position(const std::string& layer) const {
    if (const auto given = arguments_.text("rel_pos_bias"))
      return released_position(*given, arguments_.where("rel_pos_bias"));
    const bool simple = state_.has(layer + ".mega_layer.rel_pos_bias.rel_pos_bias");
    return simple ? PositionKind::simple : PositionKind::rotary;
  }

  Activation activation() const {
    return released_activation(arguments_.text("activation_fn").value_or("silu"),
                               arguments_.where("activation_fn"));
  }

  AttentionFunction attention() const {
    const std::string given =
        arguments_.text("attention_activation_fn").value_or(std::string(architecture_.attention));
    return released_attention(given, arguments_.where("attention_activation_fn"));
  }

  // 0 and None keep all lags.
  int64_t truncation() const {
    if (!arguments_.has("truncation_length")) return architecture_.truncation;
    return arguments_.integer("truncation_length").value_or(0);
  }

  // `side` is "encoder" or "decoder" where options of the program have it in their names; z, n and the chunk
  // lack it in the programs for LRA and speech.
  BlockOptions block(const std::string& side, const std::string& layer) const {
    const bool sequence = architecture_.family == Family::sequence || architecture_.family == Family::speech;
    const std::string prefix = side + "_", inner = sequence ? "" : prefix, mega = layer + ".mega_layer.";
    BlockOptions block;
    block.width = size(prefix + "embed_dim", mega + "h_proj.weight", 0);
    block.values = size(prefix + "hidden_dim", mega + "v_proj.weight", 0);
    block.shared = size(inner + "z_dim", mega + "gamma", 1);
    block.ema.dimension = size(inner + "n_dim", mega + "move.delta", 1);
    const int64_t hidden = arguments_.integer(prefix + "ffn_embed_dim").value_or(block.values);
    block.hidden = std::max<int64_t>(hidden, 0);
    block.ema.truncation = truncation();
    block.attention = attention();
    block.position = position(layer);
    block.chunk = arguments_.integer(inner + "chunk_size").value_or(architecture_.chunk);
    if (block.chunk <= 0) block.chunk = -1;
    block.norm = norm(sequence ? "norm_type" : "normalization_type", layer);
    block.prenorm = arguments_.flag(sequence ? "encoder_normalize_before" : "normalize_before")
                        .value_or(architecture_.prenorm);
    block.activation = activation();
    block.dropout = arguments_.number("dropout").value_or(0);
    block.attention_dropout = arguments_.number("attention_dropout").value_or(0);
    block.hidden_dropout = arguments_.number(sequence ? "act_dropout" : "hidden_dropout").value_or(0);
    block.activation_dropout = arguments_.number(sequence ? "act_dropout" : "activation_dropout").value_or(0);
    block.layer_dropout = arguments_.number(prefix + "layerdrop").value_or(0);
    block.feature_dropout = arguments_.flag("feature_dropout").value_or(false);
    return block;
  }

  bool normalize_embedding() const { return arguments_.flag("normalize_embedding").value_or(false); }
  bool scale_embedding() const { return !arguments_.flag("no_scale_embedding").value_or(false); }

  ModelOptions classifier() const {
    const std::string encoder = "encoder.encoder", head = "classifier.0.0.weight";
    refuse("regression_target", arguments_.flag("regression_target").value_or(false), "a regression");
    refuse("classifier_layers", arguments_.integer("classifier_layers").value_or(1) != 1,
           "a head of several hidden layers");
    refuse("classifier_activation_fn", arguments_.text("classifier_activation_fn").value_or("gelu") != "gelu",
           "another activation of the head");
    EncoderClassifierOptions options;
    options.layers = layers("encoder_layers", encoder);
    options.block = block("encoder", encoder + ".layers.0");
    options.block.max_positions = arguments_.integer("max_positions").value_or(architecture_.max_positions);
    options.normalize_embedding = normalize_embedding();
    options.head = size("classifier_out_dim", head, 0);
    options.classes = size("sentence_class_num", "sentence_projection_layer.weight", 0);
    options.pooling =
        meaning<Pooling>(arguments_.text("sen_rep_type").value_or("mp"), arguments_.where("sen_rep_type"),
                         {{"mp", Pooling::mean}, {"cls", Pooling::cls}});
    const std::string embedding = encoder + ".embed_tokens.embed.weight";
    if (architecture_.family == Family::speech) {
      options.input = InputKind::samples;
    } else if (state_.has(embedding)) {
      options.input = InputKind::tokens;
      options.vocabulary = state_.size(embedding, 0);
    } else {
      options.input = InputKind::pixels;
    }
    // Two documents, one behind the other, is what tells retrieval from classification.
    const int64_t inputs = size("classifier_in_dim", head, 1);
    if (inputs % 2 == 0 && inputs / 2 == options.block.width) return {MatcherOptions(options)};
    return {ClassifierOptions(options)};
  }

  LanguageModelOptions language_model() const {
    LanguageModelOptions options;
    options.layers = layers("decoder_layers", "decoder");
    options.block = block("decoder", "decoder.layers.0");
    options.block.causal = true;
    options.block.ema.bidirectional = false;
    options.block.max_positions =
        arguments_.integer("max_target_positions").value_or(architecture_.max_positions);
    options.normalize_embedding = normalize_embedding();
    options.affine_final_norm = !arguments_.flag("no_affine_final_norm").value_or(false);
    options.scale_embedding = scale_embedding();
    const int64_t embedding = arguments_.integer("decoder_input_dim").value_or(options.block.width);
    options.embedding_width = embedding == options.block.width ? 0 : embedding;
    options.adaptive_dropout = arguments_.number("adaptive_softmax_dropout").value_or(0);
    // Where the option is missing, the architecture decided: the tensors tell how.
    const std::string bands = "decoder.embed_tokens.embeddings.";
    if (arguments_.flag("adaptive_input").value_or(state_.has(bands + "0.0.weight"))) {
      set_bands(options, bands);
    } else {
      require(!arguments_.integers("adaptive_softmax_cutoff"), arguments_.where("adaptive_softmax_cutoff"),
              ": an adaptive softmax without an adaptive embedding, which our models do not have");
      options.vocabulary = state_.size("decoder.embed_tokens.weight", 0);
      options.tie_output = arguments_.flag("share_decoder_input_output_embed").value_or(false);
    }
    return options;
  }

  void set_bands(LanguageModelOptions& options, const std::string& bands) const {
    constexpr size_t kMostBands = 32;
    const auto input = arguments_.integers("adaptive_input_cutoff"),
               output = arguments_.integers("adaptive_softmax_cutoff");
    require(input && !input->empty() && input->size() < kMostBands, arguments_.where("adaptive_input_cutoff"),
            ": expected where the bands of the vocabulary begin");
    require(!output || *output == *input, arguments_.where("adaptive_softmax_cutoff"),
            ": other bands than those of adaptive_input_cutoff, which our models do not have");
    const double factor = arguments_.number("adaptive_input_factor").value_or(4);
    require(arguments_.number("adaptive_softmax_factor").value_or(factor) == factor,
            arguments_.where("adaptive_softmax_factor"), ": another factor than that of the embedding");
    options.cutoffs = *input;
    options.band_factor = static_cast<int64_t>(std::clamp(factor, 0.0, 1e6));
    require(static_cast<double>(options.band_factor) == factor, arguments_.where("adaptive_input_factor"),
            ": expected a whole number, got ", factor);
    refuse("tie_adaptive_weights", !arguments_.flag("tie_adaptive_weights").value_or(true),
           "an adaptive softmax with weights of its own");
    options.tie_output = true;
    options.tie_projections = arguments_.flag("tie_adaptive_proj").value_or(true);
    options.vocabulary = 0;
    for (size_t i = 0; i <= options.cutoffs.size(); ++i)
      options.vocabulary += state_.size(bands + std::to_string(i) + ".0.weight", 0);
  }

  TranslatorOptions translator() const {
    const std::string source = "encoder.embed_tokens.weight", target = "decoder.embed_tokens.weight";
    TranslatorOptions options;
    options.encoder_layers = layers("encoder_layers", "encoder");
    options.decoder_layers = layers("decoder_layers", "decoder");
    options.block = block("encoder", "encoder.layers.0");
    options.block.max_positions =
        std::max(arguments_.integer("max_source_positions").value_or(architecture_.max_positions),
                 arguments_.integer("max_target_positions").value_or(architecture_.max_positions));
    const int64_t chunk = arguments_.integer("decoder_chunk_size").value_or(architecture_.chunk);
    refuse("decoder_chunk_size", (chunk <= 0 ? -1 : chunk) != options.block.chunk,
           "other chunks in the decoder than in the encoder");
    refuse("adaptive_softmax_cutoff", arguments_.integers("adaptive_softmax_cutoff").has_value(),
           "a translator with an adaptive softmax");
    options.normalize_embedding = normalize_embedding();
    options.scale_embedding = scale_embedding();
    options.share_embeddings = arguments_.flag("share_all_embeddings").value_or(false);
    options.tie_output =
        options.share_embeddings || arguments_.flag("share_decoder_input_output_embed").value_or(false);
    options.vocabulary = state_.size(target, 0);
    const int64_t source_types = state_.size(source, 0);
    options.source_vocabulary = source_types == options.vocabulary ? 0 : source_types;
    return options;
  }

  const SavedArguments& arguments_;
  const StateDict& state_;
  const Architecture& architecture_;
};

}  // namespace

ModelOptions fairseq_options(const SavedArguments& arguments, const StateDict& state) {
  return Translation(arguments, state).run();
}

}  // namespace mega
