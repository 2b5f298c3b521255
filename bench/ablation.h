// `mega bench ablation`: the paper's ablations of section 4.1, one option of a Mega classifier at a time:
// speed and memory of a training step and, with a training budget, accuracy.
#pragma once

#include <string>
#include <vector>

#include "bench/results.h"
#include "bench/systems.h"

namespace mega::bench {

struct AblationSettings : SystemsSettings {
  std::string preset = "lra-text-chunk";
  std::vector<std::string> changes;  // of it, key=value
  // To train each: by `mega compare`, whose runs are in folders of `out`. Without `time`, nothing is trained.
  std::string data, time, seeds = "1", out;
};

struct Ablation {
  std::string name, title;
  std::string key;                  // of the option
  std::vector<std::string> values;  // "-1" of a chunk is full attention
};

// EMA dimension, chunk, attention function.
const std::vector<Ablation>& ablations();

// `only` names ablations ("ema") or single values ("ema-0", "chunk-full").
Results run_ablation(const AblationSettings& settings);

}  // namespace mega::bench
