// What a precision costs: a preset trained for a few updates in f32 and in bf16, from the same seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/config/recipe/precision.h"

namespace mega::bench {

struct PrecisionSettings {
  std::string preset = "listops-small";
  std::string data;  // "": short expressions made for this
  int64_t updates = 300;
  int seeds = 3;
};

struct PrecisionRow {
  int64_t seed = 0;
  Precision precision = Precision::f32;
  double loss = 0.0;        // mean of the last tenth of the updates
  std::string metric = {};  // of the validation examples at the end: its name,
  double value = 0.0;       // and value
  double seconds = 0.0;     // of updates
  double positions_per_second = 0.0;
};

struct PrecisionTable {
  std::string preset;
  int64_t updates = 0;
  std::vector<PrecisionRow> rows;
  std::string markdown() const;
  std::string json() const;
};

PrecisionTable run_precision(const PrecisionSettings& settings);

}  // namespace mega::bench
