// A trained translator, used in place from its memory-mapped file. Immutable and thread-safe: any number of
// decoders (translator_decoder.h) share one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/files/model_file.h"
#include "mega/config/models/translator_options.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/stack.h"
#include "mega/infer/layers/token_embedding.h"
#include "mega/text/tokens.h"

namespace mega::infer {

class Translator {
 public:
  // Opens a file of `mega train` or `mega quantize`. Error if it contains another kind of model or is
  // incomplete.
  static std::shared_ptr<const Translator> open(const std::filesystem::path& path);

  // `where` is used in error messages.
  Translator(ModelFile file, const std::string& where);

  const TranslatorOptions& options() const { return options_; }
  const ModelFile& file() const { return file_; }

  // Number of positions of a source, and of a target with </s> at the front.
  int64_t max_positions() const;

  // Encodes sources, all in one batch and without padding. Error if one is empty or too long, or has tokens
  // outside the source vocabulary.
  Sources encode(std::span<const std::vector<Token>> sources, const Run& run) const;

  // Before the first token of a target. Keys and values are in short pages, because hypotheses fork often.
  State initial_state(kernels::WeightType cache) const;

  // Reads the tokens of all segments, which stand one after the other, each with the number of its source;
  // features (tokens, D) stay in `run`'s workspace until its next use. `weights`, if given, receives those of
  // the last layer's cross-attention for segments of one token. Error if a token is outside the target
  // vocabulary.
  kernels::Rows read(std::span<const Token> tokens, std::span<const Segment> segments, const Sources& sources,
                     const Run& run, const AttentionWeights* weights = nullptr) const;

  // The output layer: logits of all target tokens from features.
  const Linear& output() const { return output_; }

 private:
  ModelFile file_;
  TranslatorOptions options_;
  WeightFile weights_;
  std::optional<TokenEmbedding> source_embedding_, target_embedding_;
  std::optional<Stack> encoder_, decoder_;
  Linear output_;
};

}  // namespace mega::infer
