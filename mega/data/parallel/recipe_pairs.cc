#include "mega/data/parallel/recipe_pairs.h"

#include "mega/base/error.h"
#include "mega/base/hash.h"
#include "mega/base/options/options_io.h"
#include "mega/config/files/model_file.h"

namespace mega::data {
namespace {

TranslationTokenizers initial_tokenizers(const Recipe& recipe) {
  const std::string& path = recipe.train.init;
  if (path.empty()) return {};
  const Signature signature = read_signature(ModelFile::open(path).tensors, path);
  const TranslationInput& now = translation_input(recipe);
  const auto* before = std::get_if<TranslationInput>(&signature.input.input);
  require(before != nullptr, path, ": does not translate, so that it has no tokens to keep");
  require(before->units == now.units && before->joint == now.joint, path, ": its tokens are ",
          before->joint ? "joint " : "separate ", to_string(before->units),
          ", input.units and input.joint ask for ", now.joint ? "joint " : "separate ", to_string(now.units));
  return make_tokenizers(signature, INT64_MAX, INT64_MAX);
}

}  // namespace

const TranslationInput& translation_input(const Recipe& recipe) {
  const auto* input = std::get_if<TranslationInput>(&recipe.input.input);
  require(input != nullptr, "a translator reads parallel text: set input.kind = translation");
  return *input;
}

PairPreparation pair_preparation(const TranslationInput& input) {
  if (!input.normalize && input.tokenize == WordCutting::none) return {};
  // They decide what is cut, so that what files are called must not.
  require(!input.source_language.empty() && !input.target_language.empty(),
          "input.normalize and input.tokenize depend on the languages: set input.source_language and "
          "input.target_language");
  const auto prepare = [](const TranslationTextOptions& options) {
    return [options](std::string_view line) { return TranslationText::prepare(line, options); };
  };
  PairPreparation preparation{prepare(source_text(input)), prepare(target_text(input)), 0};
  for (const TranslationTextOptions& options : {source_text(input), target_text(input)})
    preparation.fingerprint =
        hash_number(hash_text(options_to_json(options).dump()), preparation.fingerprint);
  return preparation;
}

ParallelRequest parallel_request(const Recipe& recipe) {
  ParallelRequest request;
  request.data = recipe.data;
  request.input = translation_input(recipe);
  request.known = initial_tokenizers(recipe);
  request.preparation = pair_preparation(request.input);
  return request;
}

Signature make_signature(const Recipe& recipe, const ParallelCorpus& corpus) {
  TranslationInput input = translation_input(recipe);
  input.source_language = corpus.languages.source;
  input.target_language = corpus.languages.target;
  Signature signature;
  signature.input.input = input;
  signature.data = recipe.data;
  signature.data.memory = DataOptions().memory;  // of this machine, not of the model
  signature.vocabulary = corpus.tokenizers.source->vocabulary();
  if (!input.joint) signature.target_vocabulary = corpus.tokenizers.target->vocabulary();
  return signature;
}

}  // namespace mega::data
