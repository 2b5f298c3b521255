#include "bench/random_model.h"

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/files/model_file.h"
#include "mega/config/recipe/presets.h"
#include "mega/train/saved_model.h"

namespace mega::bench {

void write_random_model(const std::filesystem::path& path, const ModelOptions& options,
                        const Signature* signature) {
  std::shared_ptr<torch::nn::Module> model;
  if (token_options(options) != nullptr)
    model = baselines::make_token_model(options);
  else
    model = baselines::make_sequence_model(options);
  const ops::NamedTensors weights = train::weights_of(*model);
  if (signature != nullptr) return train::save_model(path, options, *signature, weights);
  const ops::TensorViews views(weights);
  write_model_file(path, options, views.views());
}

ModelOptions chunked_language_model(const std::string& preset) {
  const ModelOptions options = load_recipe(preset).model;
  const auto* language = std::get_if<LanguageModelOptions>(&options.model);
  require(language != nullptr && language->block.chunk > 0,
          "this benchmark needs a preset of a language model with chunked attention; ", in_quotes(preset),
          " is not one");
  return options;
}

}  // namespace mega::bench
