// `mega bench translate`: beam search with the engine, beside the released way in the same program, and the
// sgemm rate of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mega::bench {

struct TranslateSettings {
  std::string preset = "wmt16-en-de";
  int threads = 0;  // 0: all cores
  int repeats = 3;  // rounds; the median is reported
  std::vector<int64_t> batches = {1, 8, 32};
};

struct TranslateRow {
  std::string
      form;  // "f32", "bf16", "int8", or "released": libtorch, unfused, with caches that are re-ordered
  int64_t beam = 5, batch = 1;
  double seconds = 0.0;  // of a batch
  double tokens = 0.0;   // of its best translations, with </s>
  double share_of_sgemm = 0.0;
};

struct TranslateTable {
  double sgemm = 0.0;           // floating-point operations per second
  double peak_growth_mb = 0.0;  // of the engine, f32, with the largest batch at beam 5
  std::vector<TranslateRow> rows;

  std::string markdown() const;
  std::string json() const;
};

// Random weights and sources; translations are as long as those of a test set.
TranslateTable run_translate(const TranslateSettings& settings);

}  // namespace mega::bench
