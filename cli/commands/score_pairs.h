// `score --pairs`: how likely a translator finds given translations.
#pragma once

#include "cli/any_model.h"
#include "cli/commands/token_pairs.h"

namespace mega::cli {

// Prints the natural log-probability of each pair's target, as a line or as JSON, in their order.
void score_pairs(const OpenRequest& model, const PairArguments& arguments, bool json);

}  // namespace mega::cli
