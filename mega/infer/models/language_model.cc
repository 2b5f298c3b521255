#include "mega/infer/models/language_model.h"

#include "mega/base/error.h"
#include "mega/infer/layers/check_tokens.h"
#include "mega/infer/models/fingerprint.h"

namespace mega::infer {

std::shared_ptr<const LanguageModel> LanguageModel::open(const std::filesystem::path& path) {
  return std::make_shared<const LanguageModel>(ModelFile::open(path), path.string());
}

LanguageModel::LanguageModel(ModelFile file, const std::string& where)
    : file_(std::move(file)), weights_(file_.tensors, where) {
  const auto* options = dynamic_cast<const LanguageModelOptions*>(&file_.options.kind());
  require(options != nullptr, where, " is not a Mega language model but a model of kind ",
          file_.options.kind_name());
  options_ = *options;
  try {
    check_surplus(file_.options, file_.tensors);
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
  if (has_signature(file_.tensors)) {
    signature_ = read_signature(file_.tensors, where);
    try {
      require(std::holds_alternative<LanguageInput>(signature_.input.input),
              "a language model whose input is no text");
      tokenizer_ = make_tokenizer(signature_, options_.vocabulary);
    } catch (const Error& error) {
      fail(where, ": ", error.what());
    }
  }
  const int64_t width = options_.block.width;
  embedding_.emplace(weights_, "decoder", options_, width);
  StackOptions stack = options_.stack();
  if (stack.block.causal) stack.block.ema.truncation = 0;  // has no effect on a stream
  stack_.emplace(weights_, "decoder", stack);
  output_.emplace(weights_, "decoder", options_, width, *embedding_);
}

const Tokenizer& LanguageModel::tokenizer() const {
  require(tokenizer_ != nullptr, "the model file has no vocabulary: it was not written by `mega train`");
  return *tokenizer_;
}

uint64_t LanguageModel::fingerprint() const {
  std::call_once(fingerprint_once_, [&] { fingerprint_ = infer::fingerprint(file_); });
  return fingerprint_;
}

void LanguageModel::check_tokens(std::span<const int32_t> tokens) const {
  infer::check_tokens(tokens, options_.vocabulary);
}

kernels::Rows LanguageModel::read(std::span<const int32_t> tokens, std::span<const Segment> segments,
                                  const Run& run) const {
  const int64_t rows = std::ssize(tokens), width = options_.block.width;
  const kernels::Rows x{run.work.floats(Workspace::kInput, rows * width), width};
  embedding_->forward(tokens, x, run);
  stack_->forward(x, rows, segments, run);
  return x;
}

}  // namespace mega::infer
