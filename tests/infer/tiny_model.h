// Model files with random weights, of any options the engine knows.
#pragma once

#include <cmath>
#include <deque>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "mega/config/bands.h"
#include "mega/config/model_file.h"
#include "mega/config/signature.h"

namespace mega::testing {

// All tensors that infer::LanguageModel and infer::Classifier ask for.
class RandomWeights {
 public:
  RandomWeights(const LanguageModelOptions& options, uint32_t seed) : random_(seed) {
    const int64_t width = options.block.width;
    const int64_t own = options.embedding_width > 0 ? options.embedding_width : width;
    if (options.cutoffs.empty()) {
      matrix("decoder.embed_tokens.weight", options.vocabulary, own);
      if (own != width) matrix("decoder.project_in_dim.weight", width, own);
      if (!options.tie_output) matrix("decoder.output_projection.weight", options.vocabulary, width);
    } else {
      add_bands(options, own);
    }
    if (options.normalize_embedding) add_norm("decoder.embed_norm", options.block, options.block.affine);
    add_blocks("decoder", options.block, options.layers);
    if (options.block.prenorm) add_norm("decoder.final_norm", options.block, options.affine_final_norm);
  }

  RandomWeights(const EncoderClassifierOptions& options, int64_t documents, uint32_t seed) : random_(seed) {
    const int64_t width = options.block.width;
    const std::string encoder = "encoder.encoder", embedding = encoder + ".embed_tokens";
    if (options.input == InputKind::tokens) {
      matrix(embedding + ".embed.weight", options.vocabulary, width);
    } else {
      matrix(embedding + ".weight", options.channels, width);
      numbers(embedding + ".bias", width);
    }
    if (options.normalize_embedding) add_norm(encoder + ".embed_norm", options.block, options.block.affine);
    add_blocks(encoder, options.block, options.layers);
    if (options.block.prenorm) add_norm(encoder + ".final_norm", options.block, options.block.affine);
    add_linear("classifier.0.0", options.head, documents * width);
    matrix("sentence_projection_layer.weight", options.classes, options.head);
  }

  const std::vector<TensorView>& tensors() const { return tensors_; }

 private:
  // Normally distributed around `mean`.
  void add(const std::string& name, std::vector<int64_t> shape, float mean, double deviation) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::normal_distribution<float> normal(mean, static_cast<float>(deviation));
    std::vector<float>& values = values_.emplace_back();
    for (int64_t i = 0; i < count; ++i) values.push_back(normal(random_));
    tensors_.push_back({name, DType::F32, std::move(shape), std::as_bytes(std::span(values))});
  }
  void matrix(const std::string& name, int64_t rows, int64_t depth) {
    add(name, {rows, depth}, 0.0f, 1.0 / std::sqrt(static_cast<double>(depth)));
  }
  void numbers(const std::string& name, int64_t count, float mean = 0.0f, double deviation = 0.3) {
    add(name, {count}, mean, deviation);
  }
  void add_linear(const std::string& name, int64_t outputs, int64_t inputs) {
    matrix(name + ".weight", outputs, inputs);
    numbers(name + ".bias", outputs);
  }

  void add_bands(const LanguageModelOptions& options, int64_t own) {
    const auto bands = make_bands(options.cutoffs, options.vocabulary, own, options.band_factor);
    const std::string softmax = "decoder.adaptive_softmax.";
    for (size_t i = 0; i < bands.size(); ++i) {
      const std::string pair = "decoder.embed_tokens.embeddings." + std::to_string(i);
      matrix(pair + ".0.weight", bands[i].size(), bands[i].width);
      matrix(pair + ".1.weight", options.block.width, bands[i].width);
      if (i > 0 && !options.tie_projections)
        matrix(softmax + "tail." + std::to_string(i - 1) + ".0.weight", bands[i].width, options.block.width);
    }
    matrix(softmax + "head.class_proj.weight", std::ssize(bands) - 1, options.block.width);
  }

  void add_norm(const std::string& name, const BlockOptions& block, bool affine) {
    const std::string norm = name + ".norm.";
    const int64_t width = block.width;
    const bool batch = block.norm == NormKind::batch || block.norm == NormKind::sync_batch;
    if (affine && block.norm == NormKind::scale) {
      numbers(norm + "scalar", 1, 1.0f, 0.1);
    } else if (affine) {
      numbers(norm + "weight", width, 1.0f, 0.1);
      if (block.norm != NormKind::rms) numbers(norm + "bias", width);
    }
    if (!batch) return;
    numbers(norm + "running_mean", width);
    numbers(norm + "running_var", width, 1.0f, 0.1);
  }

  void add_blocks(const std::string& name, const BlockOptions& block, int64_t layers) {
    const int64_t d = block.width, v = block.values, z = block.shared;
    for (int64_t i = 0; i < layers; ++i) {
      const std::string layer = name + ".layers." + std::to_string(i), mega = layer + ".mega_layer";
      add_norm(mega + ".norm", block, block.affine);
      add_linear(mega + ".v_proj", v, d);
      add_linear(mega + ".mx_proj", z + v + 2 * d, d);
      add_linear(mega + ".h_proj", d, v);
      add(mega + ".gamma", {2, z}, 1.0f, 0.3);
      add(mega + ".beta", {2, z}, 0.0f, 0.3);
      add_average(mega + ".move", block);
      add_position(mega + ".rel_pos_bias", block);
      if (block.hidden == 0) continue;
      add_norm(layer + ".nffn.norm", block, block.affine);
      add_linear(layer + ".nffn.fc1", block.hidden, d);
      add_linear(layer + ".nffn.fc2", d, block.hidden);
    }
  }

  void add_average(const std::string& name, const BlockOptions& block) {
    if (block.ema.dimension == 0) return;
    const bool expanded = block.ema.kind == EmaKind::multidimensional;
    const int64_t n = expanded ? block.ema.dimension : 1;
    const int64_t rows = block.ema.bidirectional ? 2 * block.width : block.width;
    add(name + ".delta", {rows, n, 1}, 0.0f, 1.0);
    if (block.ema.kind != EmaKind::plain) add(name + ".alpha", {rows, n, 1}, 0.0f, 1.0);
    if (expanded) add(name + ".beta", {rows, n, 1}, 0.0f, 1.0);
    if (expanded) add(name + ".gamma", {rows, n}, 0.0f, 1.0);
    if (block.ema.skip) numbers(name + ".omega", block.width);
  }

  void add_position(const std::string& name, const BlockOptions& block) {
    const int64_t positions = block.chunk > 0 ? block.chunk : block.max_positions, z = block.shared;
    if (block.position == PositionKind::simple) numbers(name + ".rel_pos_bias", 2 * positions - 1);
    if (block.position == PositionKind::t5) numbers(name + ".relative_attention_bias", 32);
    if (block.position == PositionKind::rotary) {
      numbers(name + ".alpha", z);
      numbers(name + ".beta", z);
    }
    if (block.position == PositionKind::tupe) {
      matrix(name + ".positions", positions, z);
      matrix(name + ".query", z, z);
      matrix(name + ".key", z, z);
    }
  }

  std::mt19937 random_;
  std::deque<std::vector<float>> values_;  // a deque, because its elements stay where they are
  std::vector<TensorView> tensors_;
};

// With a signature where one is given: a language model needs it for its tokenizer.
inline void write_random_model(const std::filesystem::path& path, const ModelOptions& options,
                               uint32_t seed = 1, const Signature* signature = nullptr) {
  const auto write = [&](const RandomWeights& weights) {
    std::vector<TensorView> tensors = weights.tensors();
    Metadata metadata;
    if (signature != nullptr) {
      for (const TensorView& tensor : signature_tensors(*signature)) tensors.push_back(tensor);
      metadata = signature_metadata(*signature);
    }
    write_model_file(path, options, tensors, metadata);
  };
  if (const auto* language = std::get_if<LanguageModelOptions>(&options.model)) {
    write(RandomWeights(*language, seed));
  } else if (const auto* one = std::get_if<ClassifierOptions>(&options.model)) {
    write(RandomWeights(*one, 1, seed));
  } else {
    write(RandomWeights(std::get<MatcherOptions>(options.model), 2, seed));
  }
}

// Of a language model that reads bytes.
inline Signature byte_signature() {
  Signature signature;
  signature.input.input = LanguageInput{};
  return signature;
}

// Two small blocks that use everything: a width that is no multiple of a vector, chunks shorter than a page.
inline LanguageModelOptions tiny_language_model() {
  LanguageModelOptions options;
  options.vocabulary = 264;
  options.layers = 2;
  options.block.width = 20;
  options.block.values = 24;
  options.block.shared = 8;
  options.block.hidden = 28;
  options.block.ema.dimension = 3;
  options.block.position = PositionKind::rotary;
  options.block.chunk = 13;
  return options;
}

inline ClassifierOptions tiny_classifier() {
  ClassifierOptions options;
  options.layers = 2;
  options.classes = 3;
  options.head = 16;
  options.block = tiny_language_model().block;
  options.block.causal = false;
  options.block.ema.bidirectional = true;
  return options;
}

}  // namespace mega::testing
