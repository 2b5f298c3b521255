#include "mega/config/train_options.h"

namespace mega {

void validate(const TrainOptions& options) {
  check_ranges(options, "train");
  require(options.warmup <= options.updates, "train: warmup: ", options.warmup,
          " updates of warm-up do not fit into ", options.updates, " updates in all");
  require(options.final_learning_rate <= options.learning_rate,
          "train: final_learning_rate: ", options.final_learning_rate,
          " is above learning_rate = ", options.learning_rate);
  require(options.beta1 < 1 && options.beta2 < 1, "train: beta1 and beta2 must be below 1, got ",
          options.beta1, " and ", options.beta2);
}

}  // namespace mega
