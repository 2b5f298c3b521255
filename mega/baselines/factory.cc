#include "mega/baselines/factory.h"

#include "mega/base/error.h"
#include "mega/baselines/cost.h"
#include "mega/baselines/language_transformer.h"
#include "mega/baselines/transformer.h"
#include "mega/models/classifier.h"
#include "mega/models/cost.h"
#include "mega/models/language_model.h"

namespace mega::baselines {
namespace {

template <class Other>
[[noreturn]] void fail_kind(const Other&, const char* expected) {
  fail("expected ", expected, ", not a model of kind \"", Other::kind, "\"");
}

struct MakeSequenceModel {
  using Model = std::shared_ptr<models::SequenceModel>;
  Model operator()(const ClassifierOptions& o) const { return models::Classifier(o).ptr(); }
  Model operator()(const MatcherOptions& o) const { return models::Matcher(o).ptr(); }
  Model operator()(const TransformerOptions& o) const { return Transformer(o).ptr(); }
  template <class Other>
  Model operator()(const Other& o) const {
    fail_kind(o, "a classifier, a matcher or their Transformer");
  }
};

struct MakeTokenModel {
  using Model = std::shared_ptr<models::TokenModel>;
  Model operator()(const LanguageModelOptions& o) const { return models::LanguageModel(o).ptr(); }
  Model operator()(const TransformerLanguageOptions& o) const { return LanguageTransformer(o).ptr(); }
  template <class Other>
  Model operator()(const Other& o) const {
    fail_kind(o, "a language model");
  }
};

struct Documents {
  int64_t operator()(const ClassifierOptions&) const { return 1; }
  int64_t operator()(const MatcherOptions&) const { return 2; }
  int64_t operator()(const TransformerOptions& o) const { return o.documents; }
  template <class Other>
  int64_t operator()(const Other& o) const {
    fail_kind(o, "a classifier, a matcher or their Transformer");
  }
};

struct MultiplyAdds {
  int64_t length;
  double operator()(const ClassifierOptions& o) const { return models::multiply_adds(o, length); }
  double operator()(const MatcherOptions& o) const { return models::multiply_adds(o, length); }
  double operator()(const LanguageModelOptions& o) const { return models::multiply_adds(o, length); }
  double operator()(const TransformerOptions& o) const { return multiply_adds(o, length); }
  double operator()(const TransformerLanguageOptions& o) const { return multiply_adds(o, length); }
  template <class Other>
  double operator()(const Other& o) const {
    fail_kind(o, "a model that this version can build");
  }
};

struct ActivationBytes {
  int64_t length, batch;
  double operator()(const ClassifierOptions& o) const { return models::activation_bytes(o, length, batch); }
  double operator()(const MatcherOptions& o) const { return models::activation_bytes(o, length, 2 * batch); }
  double operator()(const LanguageModelOptions& o) const {
    return models::activation_bytes(o, length, batch);
  }
  double operator()(const TransformerOptions& o) const { return activation_bytes(o, length, batch); }
  double operator()(const TransformerLanguageOptions& o) const { return activation_bytes(o, length, batch); }
  template <class Other>
  double operator()(const Other& o) const {
    fail_kind(o, "a model that this version can build");
  }
};

}  // namespace

std::shared_ptr<models::SequenceModel> make_sequence_model(const ModelOptions& options) {
  validate(options);
  return std::visit(MakeSequenceModel(), options.model);
}

std::shared_ptr<models::TokenModel> make_token_model(const ModelOptions& options) {
  validate(options);
  return std::visit(MakeTokenModel(), options.model);
}

std::shared_ptr<torch::nn::Module> make_any_model(const ModelOptions& options) {
  if (token_options(options) != nullptr) return make_token_model(options);
  return make_sequence_model(options);
}

int64_t documents(const ModelOptions& options) { return std::visit(Documents(), options.model); }

double multiply_adds(const ModelOptions& options, int64_t length) {
  return std::visit(MultiplyAdds{length}, options.model);
}

double activation_bytes(const ModelOptions& options, int64_t length, int64_t batch) {
  return std::visit(ActivationBytes{length, batch}, options.model);
}

}  // namespace mega::baselines
