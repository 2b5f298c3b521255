// The command line of `mega train`.
#pragma once

#include <string>
#include <vector>

#include "mega/config/presets.h"

namespace mega::cli {

struct TrainCommand {
  std::string recipe, data, out, init, device = "cpu", time, seeds;
  std::vector<std::string> changes;  // --set
  bool resume = false, estimate = false, help_options = false;
  int threads = 0;

  // Changes the recipe as the command line says.
  void apply(Recipe& loaded) const;
};

}  // namespace mega::cli
