#include "mega/models/translation_decoder.h"

#include <algorithm>
#include <utility>

#include "mega/base/error.h"
#include "mega/models/token_tensor.h"

namespace mega::models {
namespace {

using torch::Tensor;

Tensor select(const Tensor& x, const Tensor& rows) { return x.defined() ? x.index_select(0, rows) : x; }

// Whether row r of the next step is row r of this one.
bool in_place(std::span<const int64_t> parents, size_t rows) {
  if (parents.size() != rows) return false;
  for (size_t r = 0; r < rows; ++r)
    if (parents[r] != static_cast<int64_t>(r)) return false;
  return true;
}

}  // namespace

TranslationDecoder::TranslationDecoder(std::shared_ptr<TranslationModel> model, torch::Device device)
    : model_(std::move(model)), device_(device) {
  model_->eval();
}

int64_t TranslationDecoder::max_positions() const {
  return model_->max_length() > 0 ? model_->max_length() : StepDecoder::max_positions();
}

void TranslationDecoder::begin(std::span<const std::vector<Token>> sources) {
  size_t longest = 0;
  for (const auto& source : sources) {
    require(!source.empty(), "a source has at least its </s>");
    longest = std::max(longest, source.size());
  }
  std::vector<Token> padded(sources.size() * longest, kPad);
  for (size_t b = 0; b < sources.size(); ++b)
    std::copy(sources[b].begin(), sources[b].end(),
              padded.begin() + static_cast<std::ptrdiff_t>(b * longest));
  const torch::NoGradGuard guard;
  nn::Source encoded;
  if (!sources.empty()) {
    const Tensor tokens =
        token_tensor(padded, {std::ssize(sources), static_cast<int64_t>(longest)}).to(device_);
    const bool even = std::all_of(sources.begin(), sources.end(),
                                  [&](const auto& source) { return source.size() == longest; });
    encoded = model_->encode(tokens, even ? Tensor() : tokens == kPad);
  }
  source_count_ = std::ssize(sources);
  source_ = std::move(encoded);
  state_ = {};
  sources_.clear();
}

std::span<const float> TranslationDecoder::step(std::span<const int64_t> parents,
                                                std::span<const Token> tokens) {
  require(parents.size() == tokens.size(), "a step of ", tokens.size(), " tokens for ", parents.size(),
          " hypotheses");
  if (parents.empty()) return {};
  const bool first = sources_.empty();
  const int64_t count = first ? source_count_ : std::ssize(sources_);
  std::vector<int64_t> sources;
  for (const int64_t parent : parents) {
    require(parent >= 0 && parent < count, "a hypothesis continues number ", parent, " of ", count);
    sources.push_back(first ? parent : sources_[static_cast<size_t>(parent)]);
  }
  const torch::NoGradGuard guard;
  const Tensor rows = torch::tensor(std::vector<int64_t>(parents.begin(), parents.end())).to(device_);
  nn::State state = state_;
  nn::Source source;
  if (first)
    source = {select(source_.encoded, rows), select(source_.mask, rows)};
  else if (!in_place(parents, sources_.size()))
    state = nn::reorder(state, rows, /*keep_sources=*/sources == sources_);
  const Tensor input = token_tensor(tokens, {std::ssize(tokens), 1}).to(device_);
  const Tensor features = model_->features(input, {}, source, &state).squeeze(1);
  log_probabilities_ = model_->log_probabilities(features).to(torch::kCPU, torch::kFloat32).contiguous();
  state_ = std::move(state);
  sources_ = std::move(sources);
  return {log_probabilities_.data_ptr<float>(), static_cast<size_t>(log_probabilities_.numel())};
}

}  // namespace mega::models
