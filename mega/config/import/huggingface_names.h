// The names that tensors have in Hugging Face's Mega models, and in the released ones, which are ours.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mega {

// Which names surround the layers.
enum class HuggingFaceFamily { causal, masked, classifier };

// The released name of a tensor; none where the released models have nothing of the kind.
std::optional<std::string> name_from_huggingface(std::string_view name, HuggingFaceFamily family);

// Its inverse.
std::optional<std::string> name_for_huggingface(std::string_view name, HuggingFaceFamily family);

}  // namespace mega
