// How a recipe and its labelled examples fit each other: what the recipe asks of the data, and what the data
// decides of the model.
#pragma once

#include <string>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/dataset.h"

namespace mega::data {

DatasetRequest dataset_request(const Recipe& recipe, std::vector<std::string> classes = {});

// Sets what the data decides, whatever the recipe had: number of classes and channels, size of pictures.
void fit_recipe(Recipe& recipe, const Dataset& dataset);

// The signature of a model that is trained on this data. Its vocabulary is that of the model it starts from
// (train.init), or else of the training texts.
Signature make_signature(const Recipe& recipe, const Dataset& dataset);

// Sets the number of token types of the model where the texts decide it.
void fit_vocabulary(Recipe& recipe, const Signature& signature);

}  // namespace mega::data
