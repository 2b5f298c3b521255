#include "mega/baselines/model_builders.h"

#include "mega/base/error.h"
#include "mega/baselines/arena_model.h"
#include "mega/baselines/flash.h"
#include "mega/baselines/language_transformer.h"
#include "mega/baselines/linear.h"
#include "mega/baselines/lstm.h"
#include "mega/baselines/luna.h"
#include "mega/baselines/resnet.h"
#include "mega/baselines/s4.h"
#include "mega/baselines/transformer.h"
#include "mega/baselines/transformer_xl.h"
#include "mega/baselines/translation_transformer.h"
#include "mega/baselines/vision_transformer.h"
#include "mega/models/classifier.h"
#include "mega/models/image_classifier.h"
#include "mega/models/language_model.h"
#include "mega/models/translator.h"

namespace mega::baselines {
namespace {

template <class Module>
std::shared_ptr<torch::nn::Module> build(const Module& module) {
  return module.ptr();
}

// One entry for each kind of model (mega/config/model_options.h) that can be built.
struct Build {
  using Model = std::shared_ptr<torch::nn::Module>;
  Model operator()(const ClassifierOptions& o) const { return build(models::Classifier(o)); }
  Model operator()(const MatcherOptions& o) const { return build(models::Matcher(o)); }
  Model operator()(const LanguageModelOptions& o) const { return build(models::LanguageModel(o)); }
  Model operator()(const TranslatorOptions& o) const { return build(models::Translator(o)); }
  Model operator()(const ImageClassifierOptions& o) const { return build(models::ImageClassifier(o)); }
  Model operator()(const TransformerOptions& o) const { return build(Transformer(o)); }
  Model operator()(const TransformerLanguageOptions& o) const { return build(LanguageTransformer(o)); }
  Model operator()(const TransformerTranslationOptions& o) const { return build(TranslationTransformer(o)); }
  Model operator()(const VisionTransformerOptions& o) const { return build(VisionTransformer(o)); }
  Model operator()(const ResNetOptions& o) const { return build(ResNet(o)); }
  Model operator()(const LinearOptions& o) const { return build(Linear(o)); }
  Model operator()(const ArenaTransformerOptions& o) const { return make_arena_model(o); }
  Model operator()(const PerformerOptions& o) const { return make_arena_model(o); }
  Model operator()(const LinformerOptions& o) const { return make_arena_model(o); }
  Model operator()(const BigBirdOptions& o) const { return make_arena_model(o); }
  Model operator()(const ReformerOptions& o) const { return make_arena_model(o); }
  Model operator()(const LunaOptions& o) const { return build(Luna(o)); }
  Model operator()(const FlashOptions& o) const { return build(Flash(o)); }
  Model operator()(const S4Options& o) const { return build(S4(o)); }
  Model operator()(const S4DOptions& o) const { return build(S4(o)); }
  Model operator()(const S4LanguageOptions& o) const { return build(LanguageS4(o)); }
  Model operator()(const S4DLanguageOptions& o) const { return build(LanguageS4(o)); }
  Model operator()(const LstmOptions& o) const { return build(Lstm(o)); }
  Model operator()(const TransformerXlOptions& o) const { return build(TransformerXl(o)); }
};

template <class Model>
std::shared_ptr<Model> make(const ModelOptions& options, const char* expected) {
  auto model = std::dynamic_pointer_cast<Model>(make_model(options));
  require(model != nullptr, "expected ", expected, ", not a model of kind ", in_quotes(options.kind_name()));
  return model;
}

}  // namespace

std::shared_ptr<torch::nn::Module> make_model(const ModelOptions& options) {
  validate(options);
  return std::visit(Build(), options.model);
}

std::shared_ptr<models::SequenceModel> make_sequence_model(const ModelOptions& options) {
  return make<models::SequenceModel>(options,
                                     "a classifier, a matcher, a model of pictures or a baseline of these");
}

std::shared_ptr<models::TokenModel> make_token_model(const ModelOptions& options) {
  return make<models::TokenModel>(options, "a language model");
}

std::shared_ptr<models::TranslationModel> make_translation_model(const ModelOptions& options) {
  return make<models::TranslationModel>(options, "a translator");
}

}  // namespace mega::baselines
