// What goes into a trained model and what comes out of it: the encoding of its input, with the statistics of
// the training examples, and the names of its classes. Stands in the model file beside the weights.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/files/safetensors.h"
#include "mega/config/model_options.h"
#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/text/tokenizer.h"
#include "mega/text/translation_text.h"

namespace mega {

struct Signature {
  InputOptions input;
  DataOptions data;                  // what it was trained on, so that it can be evaluated without being told
  std::vector<std::string> classes;  // in the order of the outputs; empty for a regression
  // Of the training examples: one number per channel, or per position and channel; empty: not standardised.
  std::vector<float> mean, deviation;
  std::vector<float> target_mean, target_deviation;  // one per output of a regression
  std::string
      vocabulary;  // of the tokenizer (mega/text/tokenizer.h); empty where it is fixed, or no text is read
  std::string target_vocabulary;  // of a translator's target, where it is not that of its source
};

// The tokenizers of a translator's two sides: one and the same where both have one vocabulary.
struct TranslationTokenizers {
  std::shared_ptr<const Tokenizer> source, target;
};

// How lines of its two sides become tokens, and tokens lines.
struct TranslationTexts {
  TranslationText source, target;
};

// The signature as metadata and as tensors of a model file; the tensors refer to the signature's memory.
Metadata signature_metadata(const Signature& signature);
std::vector<TensorView> signature_tensors(const Signature& signature);

// Whether a tensor of this name is one of a signature.
bool is_signature_tensor(std::string_view name);

// Whether the file has one.
bool has_signature(const Safetensors& file);

Signature read_signature(const Safetensors& file, const std::string& where);

// What a regression's outputs stand for: the inverse of how its targets were standardised for training.
void to_target_units(std::span<float> outputs, const Signature& signature);

// The tokenizer of a model, for its input and vocabulary; null where it reads no text. Error where the
// vocabulary is damaged or has more token types than `types`, those of which the model has embeddings.
std::shared_ptr<const Tokenizer> make_tokenizer(const Signature& signature, int64_t types);

// Those of a translator, with embeddings for so many types on each side. Throws as make_tokenizer does, and
// where the model does not translate.
TranslationTokenizers make_tokenizers(const Signature& signature, int64_t source_types, int64_t target_types);
// The same with what else is done to lines.
TranslationTexts make_translation_texts(const Signature& signature, int64_t source_types,
                                        int64_t target_types);

// The number of embeddings for a vocabulary: `types` and those that no text makes, rounded up to a multiple
// of eight, as released: products like it.
int64_t embedding_count(int64_t types, int64_t reserved);

// Throws where a model of these options cannot read such input.
void check_input(const InputOptions& input, const PredictorOptions& options);
// The same, and where its vocabulary or outputs are others. Gives the tokenizer; null where it reads no text.
std::shared_ptr<const Tokenizer> check_signature(const Signature& signature, const PredictorOptions& options);

}  // namespace mega
