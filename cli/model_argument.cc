#include "cli/model_argument.h"

#include "mega/base/error.h"
#include "mega/config/model_file.h"

namespace mega::cli {

bool is_language_model(const std::string& argument) {
  return token_options(ModelFile::open(model_path(argument)).options) != nullptr;
}

train::SavedModel load_sequence_model(const std::string& argument) {
  require(!is_language_model(argument), argument,
          " is a language model: `mega generate` writes with it, `mega score` says how likely a text is to "
          "it, and `mega eval` how good it is");
  return train::load_model(model_path(argument));
}

train::SavedLanguageModel load_language_model(const std::string& argument, int64_t chunk) {
  const ModelOptions options = ModelFile::open(model_path(argument)).options;
  require(sequence_options(options) == nullptr, argument,
          " is no language model but a classifier: `mega predict` answers with it, and `mega eval` says how "
          "good it is");
  return train::load_language_model(model_path(argument), chunk);
}

DataOptions evaluation_data(const DataOptions& trained_on, const std::string& path) {
  DataOptions data = trained_on;
  std::error_code not_there;
  if (path.empty() || std::filesystem::equivalent(path, data.path, not_there)) return data;
  data.path = path;
  data.valid = data.test = "";
  data.test_share = 1.0;
  data.limit = data.evaluation_limit = 0;
  return data;
}

}  // namespace mega::cli
