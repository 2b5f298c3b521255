#include "mega/config/models/language_options.h"

#include <algorithm>
#include <string>

#include "mega/base/error.h"
#include "mega/config/cost.h"
#include "mega/config/models/bands.h"
#include "mega/config/models/block_tensors.h"

namespace mega {
namespace {

int64_t embedding_width(const TokenOptions& options, int64_t width) {
  return options.embedding_width > 0 ? options.embedding_width : width;
}

void check_bands(const TokenOptions& options, int64_t width) {
  int64_t begin = 0;
  for (const int64_t cutoff : options.cutoffs) {
    const bool grows = cutoff > begin, inside = cutoff < options.vocabulary;
    require(grows && inside, "cutoffs: expected growing numbers below the vocabulary of ", options.vocabulary,
            ", got ", cutoff, begin > 0 ? " after " + std::to_string(begin) : "");
    begin = cutoff;
    width /= options.band_factor;
  }
  require(width >= 1, "cutoffs: ", options.cutoffs.size(), " bands, each ", options.band_factor,
          " times narrower than the one before, leave no width for the last; use fewer, or a smaller "
          "band_factor");
}

void add_adaptive_tensors(TensorList& list, const TokenOptions& options, int64_t width) {
  const auto bands =
      make_bands(options.cutoffs, options.vocabulary, embedding_width(options, width), options.band_factor);
  const std::string softmax = "decoder.adaptive_softmax.";
  const auto pair = [](size_t band) { return "decoder.embed_tokens.embeddings." + std::to_string(band); };
  for (size_t i = 0; i < bands.size(); ++i) {
    list.add_matrix(pair(i) + ".0.weight", bands[i].size(), bands[i].width, ModelPart::embedding);
    list.add_matrix(pair(i) + ".1.weight", width, bands[i].width, ModelPart::embedding);
  }
  list.add_matrix(softmax + "head.class_proj.weight", std::ssize(bands) - 1, width, ModelPart::head);
  list.add_tied(softmax + "head.word_proj.weight", bands[0].size(), bands[0].width, ModelPart::head,
                pair(0) + ".0.weight");
  for (size_t i = 1; i < bands.size(); ++i) {
    const std::string tail = softmax + "tail." + std::to_string(i - 1);
    if (options.tie_projections)  // transposed
      list.add_tied(tail + ".0.weight", bands[i].width, width, ModelPart::head, pair(i) + ".1.weight");
    else
      list.add_matrix(tail + ".0.weight", bands[i].width, width, ModelPart::head);
    list.add_tied(tail + ".2.weight", bands[i].size(), bands[i].width, ModelPart::head,
                  pair(i) + ".0.weight");
  }
}

}  // namespace

void check_token_layers(const TokenOptions& options, int64_t width) {
  const int64_t embedding = embedding_width(options, width);
  check_bands(options, embedding);
  require(options.cutoffs.empty() || options.tie_output,
          "tie_output: an adaptive softmax uses the embeddings of its bands; set tie_output = true");
  require(options.cutoffs.empty() || (!options.output_dense && !options.output_bias),
          "output_dense, output_bias: an adaptive softmax has neither; set both to false");
  require(!options.tie_output || embedding == width, "tie_output: embeddings of width ", embedding,
          " cannot be the output layer of a model of width ", width, "; set tie_output = false");
}

void add_token_tensors(TensorList& list, const TokenOptions& options, int64_t width) {
  if (!options.cutoffs.empty()) return add_adaptive_tensors(list, options, width);
  const int64_t embedding = embedding_width(options, width);
  const std::string embed = "decoder.embed_tokens.weight", output = "decoder.output_projection.weight";
  list.add_matrix(embed, options.vocabulary, embedding, ModelPart::embedding);
  if (embedding != width)
    list.add_matrix("decoder.project_in_dim.weight", width, embedding, ModelPart::embedding);
  if (options.output_dense) list.add_linear("decoder.output_dense", width, width, ModelPart::head);
  if (options.tie_output)
    list.add_tied(output, options.vocabulary, width, ModelPart::head, embed);
  else
    list.add_matrix(output, options.vocabulary, width, ModelPart::head);
  if (options.output_bias) list.add("decoder.output_projection.bias", {options.vocabulary}, ModelPart::head);
}

StackOptions LanguageModelOptions::stack() const {
  StackOptions stack{block, layers, normalize_embedding, affine_final_norm};
  stack.final_norm = final_norm;
  return stack;
}

ReadingPlan LanguageModelOptions::reading() const {
  require(
      !masked,
      "a masked language model predicts what is masked in a text, not what comes next: it is not trained, "
      "scored or evaluated here, and writes no text");
  return {.chunk = block.chunk};
}

void LanguageModelOptions::check() const {
  validate(block);
  check_embedding_norm(normalize_embedding, block);
  require(!masked || !block.causal, "masked: a model that sees the whole text has block.causal = false");
  require(block.causal || masked,
          "block.causal: a language model predicts what comes next, so it must not see it; set block.causal "
          "= true (and block.ema.bidirectional = false)");
  check_token_layers(*this, block.width);
}

std::vector<TensorInfo> LanguageModelOptions::tensors() const {
  TensorList list;
  add_token_tensors(list, *this, block.width);
  add_stack_tensors(list, "decoder", stack());
  return list.take();
}

double LanguageModelOptions::multiply_adds(int64_t length) const {
  return static_cast<double>(layers) * block_multiply_adds(block, length) +
         output_multiply_adds(*this, block.width);
}

double LanguageModelOptions::activation_bytes(int64_t length, int64_t batch) const {
  const BlockActivations numbers = block_activations(block);
  const double tokens = static_cast<double>(length) * static_cast<double>(batch),
               d = static_cast<double>(block.width);
  const double kept = static_cast<double>(layers) * numbers.kept + 2 * d;  // and the final norm
  return 4.0 * tokens * kept +
         std::max(4.0 * tokens * numbers.moment, output_bytes(*this, block.width, length * batch));
}

void LanguageModelOptions::set_chunk(int64_t chunk) {
  require(block.position != PositionKind::simple || chunk == block.chunk,
          "position = simple has a bias for each place of a chunk of ", block.chunk,
          " and no other; rotary positions take any chunk");
  block.chunk = chunk;
}

}  // namespace mega
