// Flags of the command line from a declaration of options (mega/base/options.h): "top_k" becomes --top-k,
// with its help, default and range.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "mega/base/options.h"

namespace mega::cli {

// The nodes point into options that live until the command has run. Those of a group stand beside all others;
// a list is a flag that may be given several times.
void add_flags(CLI::App& command, const std::vector<OptionNode>& nodes);

}  // namespace mega::cli
