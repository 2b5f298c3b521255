#include "mega/data/initial_tokenizer.h"

#include "mega/base/error.h"
#include "mega/config/files/model_file.h"
#include "mega/config/files/signature.h"

namespace mega::data {

std::shared_ptr<const Tokenizer> initial_tokenizer(const Recipe& recipe) {
  const std::string& path = recipe.train.init;
  if (path.empty()) return nullptr;
  const Signature signature = read_signature(ModelFile::open(path).tensors, path);
  const TokenizerOptions *before = tokenizer_options(signature.input), *now = tokenizer_options(recipe.input);
  require(now != nullptr, "only a model that reads text has tokens to keep");
  require(before != nullptr && before->units == now->units, path, ": its tokens are not ",
          to_string(now->units), ", which input.units asks for");
  return make_tokenizer(now->units, signature.vocabulary, path + ": vocabulary");
}

bool starts_from_same_units(const Recipe& recipe) {
  if (recipe.train.init.empty()) return false;
  const Signature signature = read_signature(ModelFile::open(recipe.train.init).tensors, recipe.train.init);
  const TokenizerOptions *before = tokenizer_options(signature.input), *now = tokenizer_options(recipe.input);
  return before != nullptr && now != nullptr && before->units == now->units;
}

}  // namespace mega::data
