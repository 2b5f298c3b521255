// Position information of attention: a bias per distance between query and key, or queries and keys that are
// rotated or extended by their position.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/config/models/layer_options.h"
#include "mega/infer/weight_file.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

// Biases for offsets j - i of key and query, from -reach to reach, or to 0 for causal attention.
class BiasTable {
 public:
  BiasTable(int64_t reach, bool causal);

  int64_t reach() const { return reach_; }
  const float* at_zero() const { return values_.data() + reach_; }
  float* at_zero() { return values_.data() + reach_; }

 private:
  int64_t reach_;
  AlignedVector<float> values_;
};

class Position {
 public:
  Position(WeightFile& file, const std::string& name, const BlockOptions& options);

  // Width of queries and keys.
  int64_t columns() const { return kind_ == PositionKind::tupe ? 2 * shared_ : shared_; }

  // Error if the model has fewer positions.
  void check_length(int64_t length) const;

  // The bias for distances below `length`; null for none. Keep the pointer while the table is in use: another
  // thread may replace it by a longer one.
  std::shared_ptr<const BiasTable> bias(int64_t length) const;

  // Whether queries and keys are changed.
  bool places() const { return kind_ == PositionKind::rope || kind_ == PositionKind::tupe; }
  // Encodes the position into a query (columns) and a key, whose first Z numbers are set. Either may be null.
  void place(int64_t position, float* query, float* key) const;

  // Whether the whole score is divided by the length or sqrt(Z), not only the content product.
  bool scales_all() const { return kind_ != PositionKind::tupe; }

 private:
  float offset_bias(int64_t offset) const;
  void add_rotary_biases(int64_t first, BiasTable& table) const;

  PositionKind kind_;
  bool causal_;
  int64_t shared_, positions_;
  std::span<const float> numbers_;       // simple and T5
  std::vector<double> cosines_, sines_;  // rotary: factors of cos and sin for each frequency
  std::vector<double> frequencies_;      // rotary and RoPE
  std::vector<float> queries_, keys_;    // TUPE: (positions, Z)

  struct Longest {
    std::mutex mutex;
    std::shared_ptr<const BiasTable> table;
  };
  std::unique_ptr<Longest> longest_ = std::make_unique<Longest>();
};

}  // namespace mega::infer
