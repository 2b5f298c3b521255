#include "mega/config/export/fairseq_arguments.h"

#include <string>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/import/released_words.h"

namespace mega {
namespace {

using Json = nlohmann::ordered_json;

// What the program fills in by itself, whatever the model.
constexpr const char* kProgram = R"json({
  "no_progress_bar": false, "log_interval": 100, "log_format": "simple", "tensorboard_logdir": "", "seed": 1,
  "cpu": false, "tpu": false, "bf16": false, "fp16": false, "memory_efficient_bf16": false,
  "memory_efficient_fp16": false, "fp16_no_flatten_grads": false, "fp16_init_scale": 128,
  "fp16_scale_window": null, "fp16_scale_tolerance": 0.0, "min_loss_scale": 0.0001,
  "threshold_loss_scale": null, "user_dir": null, "empty_cache_freq": 0, "all_gather_list_size": 16384,
  "model_parallel_size": 1, "checkpoint_suffix": "", "quantization_config_path": null, "profile": false,
  "wandb_project": null, "wandb_entity": null, "wandb_id": null, "tokenizer": null, "bpe": null,
  "optimizer": "adam", "lr_scheduler": "linear_decay", "num_workers": 0,
  "skip_invalid_size_inputs_valid_test": false, "max_tokens": null, "max_sentences": 1,
  "required_batch_size_multiple": 1, "dataset_impl": null, "data_buffer_size": 10, "train_subset": "train",
  "valid_subset": "valid", "test_subset": "test", "validate_interval": 1, "validate_interval_updates": 0,
  "validate_after_updates": 0, "fixed_validation_seed": null, "disable_validation": false,
  "max_tokens_valid": null, "max_sentences_valid": 1, "curriculum": 0, "distributed_world_size": 1,
  "distributed_rank": 0, "distributed_backend": "nccl", "distributed_init_method": null,
  "distributed_port": -1, "device_id": 0, "distributed_no_spawn": false, "ddp_backend": "c10d",
  "bucket_cap_mb": 25, "fix_batches_to_gpus": false, "find_unused_parameters": false,
  "fast_stat_sync": false, "broadcast_buffers": false, "distributed_wrapper": "DDP", "slowmo_momentum": null,
  "slowmo_algorithm": "LocalSGD", "localsgd_frequency": 3, "nprocs_per_node": 1, "max_epoch": 0,
  "max_update": 0, "stop_time_hours": 0, "clip_norm": 1.0, "clip_mode": "total", "sentence_avg": false,
  "update_freq": [1], "lr": [0.001], "stop_min_lr": -1, "use_bmuf": false, "save_dir": "checkpoints",
  "restore_file": "checkpoint_last.pt", "finetune_from_model": null, "reset_dataloader": false,
  "reset_lr_scheduler": false, "reset_meters": false, "reset_optimizer": false, "optimizer_overrides": "{}",
  "save_interval": 1, "save_interval_updates": 0, "keep_interval_updates": -1, "keep_last_epochs": -1,
  "keep_best_checkpoints": -1, "no_save": false, "no_epoch_checkpoints": false, "no_last_checkpoints": false,
  "no_save_optimizer_state": false, "best_checkpoint_metric": "loss",
  "maximize_best_checkpoint_metric": false, "patience": -1, "adam_betas": "(0.9, 0.98)",
                     "adam_eps" : 1e-08, "weight_decay" : 0.0, "use_old_adam" : false,
                     "warmup_updates" : 0,
                     "warmup_power" : 1,
                     "warmup_init_lr" : 1e-07,
                     "end_learning_rate" : 0.0,
                     "total_num_update" : 1000000,
                     "data" : "data-bin",
                     "no_seed_provided" : false
})json";

// What it fills in beside for each family.
constexpr const char* kClassifier = R"json({
  "criterion": "lra_cross_entropy", "sentence_avg": true, "best_checkpoint_metric": "accuracy",
  "maximize_best_checkpoint_metric": true, "num_classes": -1, "regression_target": false,
  "no_shuffle": false, "shorten_method": "none", "shorten_data_split_list": "", "apply_bert_init": false,
  "layer_type": "mega", "classifier_layers": 1, "classifier_activation_fn": "gelu", "sent_loss": true,
  "encoder_layerdrop": 0
})json";
constexpr const char* kLongRangeArena = R"json({
  "use_p": false, "quant_noise_pq": 0, "quant_noise_pq_block_size": 8, "quant_noise_scalar": 0,
  "encoder_attention_heads": 8, "share_encoder_input_output_embed": false, "encoder_learned_pos": false,
  "no_token_positional_embeddings": false, "adaptive_input": false
})json";
constexpr const char* kSpeech =
    R"json({ "mfcc": false, "sc_all_classes": false, "sc_dropped_rate": 0.0 })json";
constexpr const char* kLanguage = R"json({
  "task": "language_modeling", "report_ema_alpha": false, "write_out_alpha": false,
  "sample_break_mode": "complete", "tokens_per_sample": 1024, "output_dictionary_size": -1,
  "self_target": false, "future_target": false, "past_target": false, "add_bos_token": false,
  "shorten_method": "none", "shorten_data_split_list": "", "variant_block_multiple_min": 2,
  "variant_block_multiple_max": 4, "valid_block": "splits:10", "decoder_embed_path": null,
  "share_all_embeddings": false
})json";
constexpr const char* kTranslation = R"json({
  "task": "translation", "criterion": "label_smoothed_cross_entropy", "label_smoothing": 0.1,
  "left_pad_source": true, "left_pad_target": false, "upsample_primary": 1, "truncate_source": false,
  "num_batch_buckets": 0, "load_alignments": false, "eval_bleu": false, "eval_bleu_detok": "space",
  "eval_bleu_detok_args": null, "eval_tokenized_bleu": false, "eval_bleu_remove_bpe": null,
  "eval_bleu_args": null, "eval_bleu_print_samples": false, "encoder_embed_path": null,
  "decoder_embed_path": null, "adaptive_softmax_cutoff": null, "adaptive_softmax_dropout": 0,
  "adaptive_input": false, "tie_adaptive_weights": false
})json";

class Arguments {
 public:
  Arguments() : json_(Json::parse(kProgram)) {}

  void add(const char* fields) { json_.update(Json::parse(fields)); }
  template <class Value>
  void set(const std::string& name, Value value) {
    json_[name] = std::move(value);
  }

  // What all families say of a block. `side` stands before sizes in some names, and in others not.
  void set_block(const BlockOptions& block, const std::string& side, bool side_everywhere) {
    const std::string prefix = side + "_", inner = side_everywhere ? prefix : "";
    set(prefix + "embed_dim", block.width);
    set(prefix + "hidden_dim", block.values);
    set(prefix + "ffn_embed_dim", block.hidden > 0 ? block.hidden : -1);
    set(inner + "z_dim", block.shared);
    set(inner + "n_dim", block.ema.dimension);
    set(inner + "chunk_size", block.chunk);
    set("truncation_length", block.ema.truncation);
    set("rel_pos_bias", released_word(block.position));
    set("attention_activation_fn", released_word(block.attention));
    set("activation_fn", released_word(block.activation));
    set("dropout", block.dropout);
    set("attention_dropout", block.attention_dropout);
    set("feature_dropout", block.feature_dropout);
  }

  // Those of texts that are written, where the programs for LRA and speech have other names.
  void set_text_block(const BlockOptions& block) {
    set("hidden_dropout", block.hidden_dropout);
    set("activation_dropout", block.activation_dropout);
    set("normalization_type", released_word(block.norm));
    set("normalize_before", block.prenorm);
  }

  Json take() { return std::move(json_); }

 private:
  Json json_;
};

void add_classifier(Arguments& arguments, const EncoderClassifierOptions& options,
                    const Signature& signature) {
  const BlockOptions& block = options.block;
  require(options.pooling != Pooling::first && options.head_activation == HeadActivation::gelu &&
              !options.head_bias && options.objective == Objective::classification &&
              options.input != InputKind::series,
          "the released classifiers have another head, or another input");
  arguments.add(kClassifier);
  arguments.set_block(block, "encoder", false);
  arguments.set("encoder_layers", options.layers);
  arguments.set("act_dropout", block.hidden_dropout);
  arguments.set("norm_type", released_word(block.norm));
  arguments.set("encoder_normalize_before", block.prenorm);
  arguments.set("classifier_in_dim", options.document_count() * block.width);
  arguments.set("classifier_out_dim", options.head);
  arguments.set("sentence_class_num", options.classes);
  arguments.set("sen_rep_type", options.pooling == Pooling::mean ? "mp" : "cls");
  for (const char* name : {"max_positions", "tokens_per_sample", "max_source_positions"})
    arguments.set(name, block.max_positions);
  if (options.input == InputKind::samples) {
    arguments.add(kSpeech);
    arguments.set("task", "speech_commands");
    return arguments.set("arch", "mega_sc_raw_base");
  }
  arguments.add(kLongRangeArena);
  arguments.set("normalize_embedding", options.normalize_embedding);
  arguments.set("decoder_embed_dim", block.width);
  if (options.input == InputKind::tokens) {
    arguments.set("task", "lra-text");
    arguments.set("input_type", "text");
    arguments.set("init_token", nullptr);
    arguments.set("separator_token", nullptr);
    return arguments.set("arch", options.document_count() == 2 ? "mega_lra_aan" : "mega_lra_imdb");
  }
  arguments.set("task", "lra-image");
  arguments.set("input_type", "image");
  if (const auto* image = std::get_if<ImageInput>(&signature.input.input))
    arguments.set("pixel_normalization", Json{image->mean, image->deviation});
  arguments.set("arch", "mega_lra_cifar10");
}

void add_language(Arguments& arguments, const LanguageModelOptions& options) {
  require(!options.masked && !options.output_bias && !options.output_dense,
          "the released language models predict the next token, by one matrix without bias");
  const bool adaptive = !options.cutoffs.empty();
  Json cutoffs;
  if (adaptive) {
    std::vector<std::string> numbers;
    for (const int64_t cutoff : options.cutoffs) numbers.push_back(std::to_string(cutoff));
    cutoffs = join(numbers, ",");
  }
  arguments.add(kLanguage);
  arguments.set("arch", adaptive ? "mega_lm_adaptive_big" : "mega_lm_enwik8_base");
  arguments.set("criterion", adaptive ? "adaptive_loss" : "cross_entropy");
  arguments.set_block(options.block, "decoder", true);
  arguments.set_text_block(options.block);
  arguments.set("decoder_layers", options.layers);
  arguments.set("decoder_input_dim",
                options.embedding_width > 0 ? options.embedding_width : options.block.width);
  arguments.set("max_target_positions", options.block.max_positions);
  arguments.set("no_affine_final_norm", !options.affine_final_norm);
  arguments.set("no_scale_embedding", !options.scale_embedding);
  arguments.set("normalize_embedding", options.normalize_embedding);
  arguments.set("share_decoder_input_output_embed", options.tie_output && !adaptive);
  arguments.set("adaptive_input", adaptive);
  arguments.set("adaptive_input_cutoff", cutoffs);
  arguments.set("adaptive_softmax_cutoff", cutoffs);
  arguments.set("adaptive_input_factor", options.band_factor);
  arguments.set("adaptive_softmax_factor", options.band_factor);
  arguments.set("adaptive_softmax_dropout", options.adaptive_dropout);
  arguments.set("tie_adaptive_weights", adaptive);
  arguments.set("tie_adaptive_proj", adaptive && options.tie_projections);
}

void add_translation(Arguments& arguments, const TranslatorOptions& options, const Signature& signature) {
  arguments.add(kTranslation);
  arguments.set("arch", "mega_wmt_en_de");
  for (const char* side : {"encoder", "decoder"}) arguments.set_block(options.block, side, true);
  arguments.set_text_block(options.block);
  arguments.set("encoder_layers", options.encoder_layers);
  arguments.set("decoder_layers", options.decoder_layers);
  arguments.set("decoder_input_dim", options.block.width);
  arguments.set("max_source_positions", options.block.max_positions);
  arguments.set("max_target_positions", options.block.max_positions);
  arguments.set("no_scale_embedding", !options.scale_embedding);
  arguments.set("normalize_embedding", options.normalize_embedding);
  arguments.set("share_all_embeddings", options.share_embeddings);
  arguments.set("share_decoder_input_output_embed", options.tie_output);
  const auto* input = std::get_if<TranslationInput>(&signature.input.input);
  arguments.set("source_lang", input != nullptr ? Json(input->source_language) : Json());
  arguments.set("target_lang", input != nullptr ? Json(input->target_language) : Json());
}

}  // namespace

Json fairseq_arguments(const ModelOptions& options, const Signature& signature) {
  Arguments arguments;
  if (const auto* classifier = dynamic_cast<const EncoderClassifierOptions*>(&options.kind()))
    add_classifier(arguments, *classifier, signature);
  else if (const auto* language = dynamic_cast<const LanguageModelOptions*>(&options.kind()))
    add_language(arguments, *language);
  else if (const auto* translator = dynamic_cast<const TranslatorOptions*>(&options.kind()))
    add_translation(arguments, *translator, signature);
  else
    fail("the released program has no models of kind ", options.kind_name());
  return arguments.take();
}

}  // namespace mega
