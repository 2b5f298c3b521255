// A look into a serialised model of SentencePiece before the library gets it.
#pragma once

#include <string_view>

namespace mega {

// Whether the model is whole and leaves characters as they are. SentencePiece follows a table for changing
// characters wherever it points, also out of memory; no model made here has one.
bool is_model_without_normalization(std::string_view model);

}  // namespace mega
