// `score --pairs`: how likely a translator finds given translations.
#pragma once

#include <string>
#include <vector>

#include "cli/any_model.h"

namespace mega::cli {

// Prints the natural log-probability of each pair's target, as a line or as JSON, in their order.
void score_pairs(const OpenRequest& model, const std::vector<std::string>& files, bool json);

}  // namespace mega::cli
