// `score --pairs`: how likely a translator finds given translations.
#pragma once

#include "cli/any_model.h"
#include "cli/commands/shard.h"
#include "cli/commands/token_pairs.h"

namespace mega::cli {

// Prints the natural log-probability of the target of each pair in the part, as a line or as JSON, in their
// order.
void score_pairs(const OpenRequest& model, const PairArguments& arguments, const Shard& shard, bool json);

}  // namespace mega::cli
