// The command line of `mega train`.
#pragma once

#include <string>
#include <vector>

#include "mega/config/presets.h"

namespace mega::cli {

struct TrainCommand {
  std::string recipe, data, out, init, device = "cpu", time, seeds;
  std::vector<std::string> changes;  // --set
  bool resume = false, restart = false, estimate = false, help_options = false;
  int threads = 0;

  // Changes the recipe as the command line says.
  void apply(Recipe& loaded) const;
  // The options that the command line sets.
  std::vector<std::string> keys() const;
};

}  // namespace mega::cli
