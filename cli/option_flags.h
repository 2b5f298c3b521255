// Command line flags from a declaration of options (mega/base/options/options.h): "top_k" becomes --top-k,
// with its help, default and range.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "mega/base/options/options.h"

namespace mega::cli {

// The nodes point into options that must outlive the command. Groups are flattened; a list becomes a flag
// that may be repeated.
void add_flags(CLI::App& command, const std::vector<OptionNode>& nodes);

}  // namespace mega::cli
