#include "mega/config/model_options.h"

#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

template <class... Kinds>
std::vector<ModelOptions> default_options(const std::variant<Kinds...>*) {
  return {ModelOptions{Kinds{}}...};
}

// One of each kind.
const std::vector<ModelOptions>& all_kinds() {
  static const std::vector<ModelOptions> kinds = default_options(static_cast<AnyModelOptions*>(nullptr));
  return kinds;
}

// "transformer" of "transformer_language".
std::string family(const std::string& kind) { return kind.substr(0, kind.find('_')); }

}  // namespace

const ModelKind& ModelOptions::kind() const {
  return std::visit([](const auto& options) -> const ModelKind& { return options; }, model);
}

ModelKind& ModelOptions::kind() { return const_cast<ModelKind&>(std::as_const(*this).kind()); }

std::string ModelOptions::kind_name() const {
  return std::visit([](const auto& options) { return std::string(options.kind); }, model);
}

PredictorOptions* predictor_options(ModelOptions& options) {
  return dynamic_cast<PredictorOptions*>(&options.kind());
}

const PredictorOptions* predictor_options(const ModelOptions& options) {
  return dynamic_cast<const PredictorOptions*>(&options.kind());
}

ImageOptions* image_options(ModelOptions& options) { return dynamic_cast<ImageOptions*>(&options.kind()); }

const ImageOptions* image_options(const ModelOptions& options) {
  return dynamic_cast<const ImageOptions*>(&options.kind());
}

SequenceOptions* sequence_options(ModelOptions& options) {
  return dynamic_cast<SequenceOptions*>(&options.kind());
}

const SequenceOptions* sequence_options(const ModelOptions& options) {
  return dynamic_cast<const SequenceOptions*>(&options.kind());
}

TokenOptions* token_options(ModelOptions& options) { return dynamic_cast<TokenOptions*>(&options.kind()); }

const TokenOptions* token_options(const ModelOptions& options) {
  return dynamic_cast<const TokenOptions*>(&options.kind());
}

TranslationOptions* translation_options(ModelOptions& options) {
  return dynamic_cast<TranslationOptions*>(&options.kind());
}

const TranslationOptions* translation_options(const ModelOptions& options) {
  return dynamic_cast<const TranslationOptions*>(&options.kind());
}

int32_t cls_token(const ModelOptions& options) {
  const SequenceOptions* sequence = sequence_options(options);
  return sequence == nullptr ? -1 : cls_token(*sequence);
}

std::optional<ModelOptions> baseline_of(const ModelOptions& options, const std::string& name) {
  for (ModelOptions candidate : all_kinds()) {
    const std::string kind = candidate.kind_name();
    if ((kind == name || family(kind) == name) && candidate.kind().task() == options.kind().task() &&
        candidate.kind().match(options.kind()))
      return candidate;
  }
  return std::nullopt;
}

void validate(const ModelOptions& options) {
  check_ranges(options, "model");
  try {
    options.kind().check();
  } catch (const Error& error) {
    fail("model: ", error.what());
  }
}

}  // namespace mega
