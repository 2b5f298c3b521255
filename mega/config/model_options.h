// What a model is: one struct of options per kind of model, and the variant that holds one of them, which is
// the table of kinds. A model file carries exactly this, and a preset begins with it.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "mega/base/options/options.h"
#include "mega/config/models/arena_options.h"
#include "mega/config/models/classifier_options.h"
#include "mega/config/models/flash_options.h"
#include "mega/config/models/image_options.h"
#include "mega/config/models/language_options.h"
#include "mega/config/models/linear_options.h"
#include "mega/config/models/lstm_options.h"
#include "mega/config/models/luna_options.h"
#include "mega/config/models/resnet_options.h"
#include "mega/config/models/s4_options.h"
#include "mega/config/models/transformer_options.h"
#include "mega/config/models/transformer_xl_options.h"
#include "mega/config/models/translator_options.h"

namespace mega {

// A new kind is a row here, and a row in the table that builds them (mega/baselines/model_builders.cc).
using AnyModelOptions =
    std::variant<ClassifierOptions, MatcherOptions, TransformerOptions, LanguageModelOptions,
                 TransformerLanguageOptions, TranslatorOptions, TransformerTranslationOptions,
                 ImageClassifierOptions, VisionTransformerOptions, ResNetOptions, LinearOptions,
                 ArenaTransformerOptions, PerformerOptions, LinformerOptions, BigBirdOptions, ReformerOptions,
                 LunaOptions, FlashOptions, S4Options, S4DOptions, S4LanguageOptions, S4DLanguageOptions,
                 LstmOptions, TransformerXlOptions>;

struct ModelOptions {
  AnyModelOptions model;

  // What the kind says of itself.
  const ModelKind& kind() const;
  ModelKind& kind();
  // Its name, as in files.
  std::string kind_name() const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.variant("kind", self.model, "what the model does");
  }
};

// The fields that all models share that say one thing about each example; null for other kinds.
PredictorOptions* predictor_options(ModelOptions& options);
const PredictorOptions* predictor_options(const ModelOptions& options);

// The fields that all models of pictures share; null for other kinds.
ImageOptions* image_options(ModelOptions& options);
const ImageOptions* image_options(const ModelOptions& options);

// The fields that all classifiers of sequences share; null for other kinds.
SequenceOptions* sequence_options(ModelOptions& options);
const SequenceOptions* sequence_options(const ModelOptions& options);

// The token that stands before each text of a model; -1 for none.
int32_t cls_token(const ModelOptions& options);

// The fields that all language models share; null for other kinds.
TokenOptions* token_options(ModelOptions& options);
const TokenOptions* token_options(const ModelOptions& options);

// The fields that all translators share; null for other kinds.
TranslationOptions* translation_options(ModelOptions& options);
const TranslationOptions* translation_options(const ModelOptions& options);

// The baseline called `name` of a Mega model: the same task, the same size. Kinds of several tasks share a
// name: "transformer" beside a language model is "transformer_language". None where there is no such.
std::optional<ModelOptions> baseline_of(const ModelOptions& options, const std::string& name);

// Throws where a number is out of range or fields do not fit each other; says which and what to do.
void validate(const ModelOptions& options);

}  // namespace mega
