// How a recipe and its parallel text fit each other, as mega/data/recipe_data.h says of labelled examples.
#pragma once

#include "mega/config/files/signature.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/parallel/parallel_corpus.h"

namespace mega::data {

// Throws unless the recipe reads parallel text.
const TranslationInput& translation_input(const Recipe& recipe);

// What is done to lines before they become tokens.
PairPreparation pair_preparation(const TranslationInput& input);

// What the recipe asks of the data. A model that it starts from (train.init) keeps its tokens.
ParallelRequest parallel_request(const Recipe& recipe);

// The signature of a translator that is trained on this text, with the languages that its files' names said.
Signature make_signature(const Recipe& recipe, const ParallelCorpus& corpus);

}  // namespace mega::data
