// What goes into a trained model and what comes out of it: the encoding of its input, with the statistics of
// the training examples, and the names of its classes. Stands in the model file beside the weights.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mega/base/safetensors.h"
#include "mega/config/data_options.h"
#include "mega/config/input_options.h"
#include "mega/config/model_options.h"

namespace mega {

struct Signature {
  InputOptions input;
  DataOptions data;                  // what it was trained on, so that it can be evaluated without being told
  std::vector<std::string> classes;  // in the order of the outputs; empty for a regression
  // Of the training examples: one number per channel, or per position and channel; empty: not standardised.
  std::vector<float> mean, deviation;
  std::vector<float> target_mean, target_deviation;  // one per output of a regression
  std::string vocabulary;  // of a language model's tokenizer (mega/text/tokenizer.h)
};

// The signature as metadata and as tensors of a model file; the tensors refer to the signature's memory.
Metadata signature_metadata(const Signature& signature);
std::vector<TensorView> signature_tensors(const Signature& signature);

// Whether the file has one.
bool has_signature(const Safetensors& file);

Signature read_signature(const Safetensors& file, const std::string& where);

// What a regression's outputs stand for: the inverse of how its targets were standardised for training.
void to_target_units(std::span<float> outputs, const Signature& signature);

// Throws where a model of these options cannot read such input.
void check_input(const InputOptions& input, const SequenceOptions& options);
// The same, and where it has other outputs.
void check_signature(const Signature& signature, const SequenceOptions& options);

}  // namespace mega
