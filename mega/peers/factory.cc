#include "mega/peers/factory.h"

#include "mega/base/error.h"
#include "mega/models/cost.h"
#include "mega/models/model.h"
#include "mega/peers/cost.h"
#include "mega/peers/transformer.h"

namespace mega::peers {
namespace {

// Calls on_mega(EncoderClassifierOptions, documents) or on_transformer(TransformerOptions).
template <class OnMega, class OnTransformer>
auto by_kind(const ModelOptions& options, const OnMega& on_mega, const OnTransformer& on_transformer) {
  if (const auto* classifier = std::get_if<ClassifierOptions>(&options.model)) return on_mega(*classifier, 1);
  if (const auto* matcher = std::get_if<MatcherOptions>(&options.model)) return on_mega(*matcher, 2);
  if (const auto* transformer = std::get_if<TransformerOptions>(&options.model))
    return on_transformer(*transformer);
  const char* kind = std::visit([](const auto& model) { return model.kind; }, options.model);
  fail("this version knows the options of a model of kind \"", kind,
       "\" but cannot build one; it builds classifier, matcher and transformer");
}

}  // namespace

std::shared_ptr<models::SequenceModel> make_sequence_model(const ModelOptions& options) {
  using Model = std::shared_ptr<models::SequenceModel>;
  validate(options);
  return by_kind(
      options, [&](const auto&, int64_t) -> Model { return models::make_model(options); },
      [](const TransformerOptions& o) -> Model { return Transformer(o).ptr(); });
}

int64_t documents(const ModelOptions& options) {
  return by_kind(
      options, [](const auto&, int64_t count) { return count; },
      [](const TransformerOptions& o) { return o.documents; });
}

double multiply_adds(const ModelOptions& options, int64_t length) {
  return by_kind(
      options,
      [&](const EncoderClassifierOptions& o, int64_t) {
        return static_cast<double>(o.layers) * models::block_multiply_adds(o.block, length);
      },
      [&](const TransformerOptions& o) { return multiply_adds(o, length); });
}

double activation_bytes(const ModelOptions& options, int64_t length, int64_t batch) {
  return by_kind(
      options,
      [&](const EncoderClassifierOptions& o, int64_t count) {
        return models::activation_bytes(o, length, batch * count);
      },
      [&](const TransformerOptions& o) { return activation_bytes(o, length, batch); });
}

}  // namespace mega::peers
