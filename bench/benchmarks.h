// The tables of `mega bench`.
#pragma once

#include <string>
#include <vector>

#include "bench/measure.h"

namespace mega::bench {

struct Settings {
  std::string table;             // ema, convolution, attention, layer, step, train, lm
  std::string preset;            // empty: the table's default
  std::vector<int64_t> lengths;  // empty: the table's default
  int64_t batch = 0;             // 0: the table's default
  int64_t chunk = 0;             // 0: the table's default
  int repeats = 7;
  std::vector<std::string> forms = {"fused", "reference"};
  std::vector<std::string> precisions = {"f32"};  // of the fused form, in layer, step, train and lm
  int threads = 0;
};

// The rows of a table, not measured yet, of one length after the other.
std::vector<Candidate> make_rows(const Settings& settings);

// Measures all rows of a table; peak memory of each row in a child process of its own.
std::vector<Row> run_table(const Settings& settings);

// What the child process runs: returns the growth of peak memory of row `index`, in MB.
double run_memory(const Settings& settings, size_t index);

// Rows as a markdown table, or as JSON.
std::string to_markdown(const std::vector<Row>& rows);
std::string to_json(const std::vector<Row>& rows);

}  // namespace mega::bench
