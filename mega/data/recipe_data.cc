#include "mega/data/recipe_data.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/data/encoder.h"
#include "mega/data/initial_tokenizer.h"
#include "mega/data/vocabulary.h"

namespace mega::data {
namespace {

const PredictorOptions& shared_options(const ModelOptions& options) {
  const PredictorOptions* shared = predictor_options(options);
  require(shared != nullptr, "this command works on classifiers, matchers and their baselines only");
  return *shared;
}

// A model of pictures reads those that the input makes.
void fit_pictures(ImageOptions& model, const InputOptions& input) {
  const auto* image = std::get_if<ImageInput>(&input.input);
  if (image == nullptr) return;
  model.image = image->height;
  model.image_width = image->width == image->height ? 0 : image->width;
  model.channels = channels_of(input);
}

// The vocabulary for these texts; empty where it is fixed, or there are no texts.
std::string find_vocabulary(const Recipe& recipe, const Dataset& dataset) {
  const TokenizerOptions* options = tokenizer_options(recipe.input);
  if (options == nullptr) return "";
  // Bytes and the words of ListOps have their usual numbers, unless the model to start from has others.
  if (!has_fixed_vocabulary(options->units) || starts_from_same_units(recipe))
    if (const auto initial = initial_tokenizer(recipe)) return initial->vocabulary();
  // A data set that is only looked at may have no training texts.
  const Part& part = dataset.train.size() > 0   ? dataset.train
                     : dataset.valid.size() > 0 ? dataset.valid
                                                : dataset.test;
  return learn_vocabulary(*options, part)->vocabulary();
}

}  // namespace

DatasetRequest dataset_request(const Recipe& recipe, std::vector<std::string> classes) {
  DatasetRequest request;
  request.data = recipe.data;
  request.input = recipe.input;
  request.pairs = recipe.model.kind().document_count() == 2;
  request.whole = recipe.augment.crop;
  request.objective = shared_options(recipe.model).objective;
  request.classes = std::move(classes);
  return request;
}

void fit_recipe(Recipe& recipe, const Dataset& dataset) {
  PredictorOptions* shared = predictor_options(recipe.model);
  require(shared != nullptr,
          "only models of whole sequences and of pictures are trained on labelled examples");
  require(dataset.outputs >= 1, "the training examples have nothing to predict");
  require(shared->objective == Objective::regression || dataset.outputs >= 2,
          "all examples belong to one class, ",
          in_quotes(dataset.classes.empty() ? "" : dataset.classes.front()),
          ": there is nothing to tell apart");
  shared->classes = dataset.outputs;
  if (SequenceOptions* sequence = sequence_options(recipe.model))
    if (sequence->input != InputKind::tokens) sequence->channels = channels_of(recipe.input);
  if (ImageOptions* image = image_options(recipe.model)) fit_pictures(*image, recipe.input);
  // A model to start from may number tokens in an order of its own; its signature is checked with the model.
  if (recipe.train.init.empty()) check_input(recipe.input, *shared);
}

Signature make_signature(const Recipe& recipe, const Dataset& dataset) {
  Signature signature;
  signature.input = recipe.input;
  signature.data = recipe.data;
  signature.data.memory = DataOptions().memory;  // of this machine, not of the model
  signature.data.threads = DataOptions().threads;
  signature.classes = dataset.classes;
  fit_statistics(signature, dataset.train);
  signature.vocabulary = find_vocabulary(recipe, dataset);
  if (dataset.train.targets.empty()) return signature;
  const auto outputs = static_cast<size_t>(dataset.outputs);
  const double n = static_cast<double>(dataset.train.size());
  for (size_t k = 0; k < outputs; ++k) {
    double sum = 0.0, squares = 0.0;
    for (size_t i = k; i < dataset.train.targets.size(); i += outputs) {
      const double x = static_cast<double>(dataset.train.targets[i]);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
    signature.target_mean.push_back(static_cast<float>(mean));
    signature.target_deviation.push_back(static_cast<float>(variance > 0 ? std::sqrt(variance) : 1.0));
  }
  return signature;
}

void fit_vocabulary(Recipe& recipe, const Signature& signature) {
  const TokenizerOptions* options = tokenizer_options(recipe.input);
  if (options == nullptr || has_fixed_vocabulary(options->units)) return;
  const int64_t types = make_tokenizer(signature, INT64_MAX)->size();
  SequenceOptions& model = *sequence_options(recipe.model);
  // As many as an imported model has, whose embeddings may be any number.
  if (model.vocabulary == types + reserved_tokens(model)) return;
  model.vocabulary = embedding_count(types, reserved_tokens(model));
}

}  // namespace mega::data
