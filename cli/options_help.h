// The table of options behind --set.
#pragma once

#include <cstdio>

#include "mega/base/options.h"
#include "mega/base/table.h"

namespace mega::cli {

template <class Options>
void print_options(const Options& options) {
  Table table({"option", "default", "what", "values"});
  for (const OptionRow& row : option_rows(options))
    table.add({row.key, row.default_value, row.help, row.type});
  std::fputs(table.plain().c_str(), stdout);
}

}  // namespace mega::cli
