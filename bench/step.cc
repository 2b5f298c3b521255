#include "bench/step.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/cost.h"
#include "mega/models/classifier.h"
#include "mega/ops/phase.h"
#include "mega/text/tokens.h"
#include "mega/train/adamw.h"

namespace mega::bench {
namespace {

using torch::Tensor;

// Updates the parameters of a model by the gradients of what `loss` gives.
std::function<void()> update(const std::vector<Tensor>& parameters, const Recipe& recipe,
                             const std::string& form, std::function<Tensor()> loss) {
  auto optimiser = std::make_shared<train::AdamW>(parameters, recipe.train);
  return [optimiser, form = parse_form(form), loss = std::move(loss)] {
    const ops::FormGuard guard(form);
    optimiser->zero_gradients();
    loss().backward();
    optimiser->step(1e-4);
  };
}

Tensor loss_of_classes(const Tensor& said, const Tensor& labels) {
  const ops::PhaseMark mark(ops::Phase::loss);
  return torch::nn::functional::cross_entropy(said, labels);
}

Tensor random_labels(int64_t classes, int64_t count) {
  return torch::randint(classes, {count}, torch::kInt64);
}

// The cost counts the blocks alone.
Candidate classifier_step(const Recipe& recipe, EncoderClassifierOptions options, const std::string& name,
                          const std::string& form, const Shape& shape) {
  options.block.max_positions = std::max(options.block.max_positions, shape.length);
  ClassifierOptions classifier;
  static_cast<EncoderClassifierOptions&>(classifier) = options;
  models::Classifier model(classifier);
  model->train();
  models::Sequences batch;
  batch.values = options.input == InputKind::tokens
                     ? torch::randint(4, options.vocabulary, {shape.batch, shape.length}, torch::kInt64)
                     : torch::randn({shape.batch, shape.length});
  const Tensor labels = random_labels(options.classes, shape.batch);
  Candidate candidate{name, form, update(model->parameters(), recipe, form, [=]() mutable {
                        return loss_of_classes(model->forward(batch), labels);
                      })};
  candidate.tokens = shape.tokens();
  candidate.flops = 2.0 * 3.0 * static_cast<double>(options.layers) *
                    block_multiply_adds(options.block, shape.length) * shape.tokens();
  return candidate;
}

// Of pictures of the preset's size, Mega or baseline.
Candidate picture_step(const Recipe& recipe, const std::string& preset, const std::string& form,
                       int64_t pictures) {
  const ImageOptions& options = *image_options(recipe.model);
  const auto model = baselines::make_sequence_model(recipe.model);
  model->train();
  models::Sequences batch;
  batch.values = torch::randn({pictures, options.max_length(), options.channels});
  const Tensor labels = random_labels(options.classes, pictures);
  Candidate candidate{"training step " + preset + ", B " + std::to_string(pictures) + ", " +
                          std::to_string(options.rows()) + " x " + std::to_string(options.columns()) +
                          " pixels",
                      form, update(model->parameters(), recipe, form, [=] {
                        return loss_of_classes(model->predict({batch}), labels);
                      })};
  const auto pixels = static_cast<double>(pictures * options.max_length());
  candidate.tokens =
      options.patch_grid() ? static_cast<double>(pictures * options.patch_grid()->size()) : pixels;
  candidate.flops = 2.0 * 3.0 * recipe.model.kind().multiply_adds(options.max_length()) * pixels;
  return candidate;
}

}  // namespace

std::string shape_name(const Shape& shape) {
  return "B " + std::to_string(shape.batch) + ", L " + std::to_string(shape.length);
}

ops::Form parse_form(const std::string& form) {
  if (form == "fused") return ops::Form::fused;
  if (form == "reference") return ops::Form::reference;
  fail("the form must be fused or reference, not ", in_quotes(form));
}

BlockOptions preset_block(const Settings& settings) {
  const Recipe recipe = load_recipe(settings.preset);
  const auto* classifier = dynamic_cast<const EncoderClassifierOptions*>(&recipe.model.kind());
  const auto* language = dynamic_cast<const LanguageModelOptions*>(&recipe.model.kind());
  require(classifier != nullptr || language != nullptr,
          "this benchmark needs a preset of a Mega classifier or language model; ",
          in_quotes(settings.preset), " is not one");
  BlockOptions block = classifier != nullptr ? classifier->block : language->block;
  if (settings.chunk != 0) block.chunk = settings.chunk;
  return block;
}

bool reads_pictures(const std::string& preset) {
  const Recipe recipe = load_recipe(preset);
  return image_options(recipe.model) != nullptr;
}

Candidate language_step(const Recipe& recipe, const std::string& name, const std::string& form,
                        const Shape& shape) {
  const auto model = baselines::make_token_model(recipe.model);
  model->train();
  const Tensor tokens = torch::randint(kFirstSymbol, token_options(recipe.model)->vocabulary,
                                       {shape.batch, shape.length}, torch::kInt64);
  Candidate candidate{name, form, update(model->parameters(), recipe, form, [=] {
                        const Tensor features = model->features(tokens).flatten(0, 1);
                        const ops::PhaseMark mark(ops::Phase::loss);
                        return model->losses(features, tokens.flatten()).mean();
                      })};
  candidate.tokens = shape.tokens();
  candidate.flops = 6.0 * recipe.model.kind().multiply_adds(shape.length) * candidate.tokens;
  return candidate;
}

Candidate step_case(const Settings& settings, const std::string& form, const Shape& shape) {
  Recipe recipe = load_recipe(settings.preset);
  if (image_options(recipe.model) != nullptr) return picture_step(recipe, settings.preset, form, shape.batch);
  const BlockOptions block = preset_block(settings);
  const std::string name = "training step " + settings.preset + ", chunk " + std::to_string(block.chunk) +
                           ", " + shape_name(shape);
  if (auto* language = std::get_if<LanguageModelOptions>(&recipe.model.model)) {
    language->block = block;
    return language_step(recipe, name, form, shape);
  }
  auto options = dynamic_cast<const EncoderClassifierOptions&>(recipe.model.kind());
  options.block = block;
  return classifier_step(recipe, options, name, form, shape);
}

}  // namespace mega::bench
