#include "mega/infer/models/translator.h"

#include <limits>

#include "mega/base/error.h"
#include "mega/infer/layers/check_tokens.h"

namespace mega::infer {
namespace {

constexpr int64_t kPage = 16;  // positions of a target: most sentences need one to three

}  // namespace

std::shared_ptr<const Translator> Translator::open(const std::filesystem::path& path) {
  return std::make_shared<const Translator>(ModelFile::open(path), path.string());
}

Translator::Translator(ModelFile file, const std::string& where)
    : file_(std::move(file)), weights_(file_.tensors, where) {
  const auto* options = dynamic_cast<const TranslatorOptions*>(&file_.options.kind());
  require(options != nullptr, where, " is not a Mega translator but a model of kind ",
          file_.options.kind_name());
  options_ = *options;
  try {
    check_surplus(file_.options, file_.tensors);
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
  const int64_t width = options_.block.width;
  const kernels::Weights source =
      weights_.matrix("encoder.embed_tokens.weight", options_.source_types(), width);
  const kernels::Weights target =
      options_.share_embeddings ? source
                                : weights_.matrix("decoder.embed_tokens.weight", options_.vocabulary, width);
  source_embedding_.emplace(source, options_.scale_embedding);
  target_embedding_.emplace(target, options_.scale_embedding);
  encoder_.emplace(weights_, "encoder", options_.encoder());
  StackOptions decoder = options_.decoder();
  decoder.block.ema.truncation = 0;  // has no effect on a stream
  decoder_.emplace(weights_, "decoder", decoder);
  output_ = Linear(options_.tie_output
                       ? target
                       : weights_.matrix("decoder.output_projection.weight", options_.vocabulary, width));
}

int64_t Translator::max_positions() const {
  const int64_t limit = options_.max_length();
  return limit > 0 ? limit : std::numeric_limits<int64_t>::max();
}

Sources Translator::encode(std::span<const std::vector<Token>> sources, const Run& run) const {
  std::vector<Token> tokens;
  std::vector<Segment> segments;
  std::vector<SourceRange> ranges;
  for (const std::vector<Token>& source : sources) {
    require(!source.empty(), "an empty source cannot be translated: expected at least </s>");
    check_tokens(source, options_.source_types());
    segments.push_back({nullptr, std::ssize(tokens), std::ssize(source)});
    ranges.push_back({std::ssize(tokens), std::ssize(source)});
    tokens.insert(tokens.end(), source.begin(), source.end());
  }
  const int64_t rows = std::ssize(tokens), width = options_.block.width;
  const kernels::Rows x{run.work.floats(Workspace::kInput, rows * width), width};
  source_embedding_->forward(tokens, x, run);
  encoder_->forward(x, rows, segments, run);
  return decoder_->read_sources({x.data, x.stride}, ranges, run);
}

State Translator::initial_state(kernels::WeightType cache) const {
  return decoder_->initial_state(cache, kPage);
}

kernels::Rows Translator::read(std::span<const Token> tokens, std::span<const Segment> segments,
                               const Sources& sources, const Run& run,
                               const AttentionWeights* weights) const {
  check_tokens(tokens, options_.vocabulary);
  const int64_t rows = std::ssize(tokens), width = options_.block.width;
  const kernels::Rows x{run.work.floats(Workspace::kInput, rows * width), width};
  target_embedding_->forward(tokens, x, run);
  decoder_->forward(x, rows, segments, run, &sources, weights);
  return x;
}

}  // namespace mega::infer
