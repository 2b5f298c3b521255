// The command line of `mega train`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mega/config/recipe/presets.h"

namespace mega::cli {

struct TrainCommand {
  std::string recipe, data, out, init, device = "cpu", seeds, options_filter;
  std::vector<std::string> changes;     // --set
  std::vector<std::string> shorthands;  // the same, from plain options such as --lr; --set wins
  bool resume = false, restart = false, estimate = false;
  int threads = 0;

  // Changes the recipe as the command line says, and makes its model for its input; that of a run that has
  // begun stays as long as it is.
  void apply(Recipe& loaded, bool has_begun = false) const;
  // The options that the command line sets.
  std::vector<std::string> keys() const;
};

// A plain option that stands for a --set: --lr for train.learning_rate.
struct Shorthand {
  const char* flag;
  const char* key;
  const char* value;  // what help calls its value
};
std::span<const Shorthand> train_shorthands();

}  // namespace mega::cli
