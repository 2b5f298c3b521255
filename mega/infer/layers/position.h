// How attention knows positions: a bias for each distance between query and key, or queries and keys that are
// turned or extended by their position.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/config/layer_options.h"
#include "mega/infer/weight_file.h"
#include "mega/kernels/rows.h"

namespace mega::infer {

// A bias for offsets j - i of key and query, from -reach to reach, or to 0 where attention is causal.
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

  // Columns of queries and keys.
  int64_t columns() const { return kind_ == PositionKind::tupe ? 2 * shared_ : shared_; }

  // Error where the model does not know so many positions.
  void check_length(int64_t length) const;

  // The bias for distances below `length`; null for none. Keep the pointer while the table
  // is in use: another thread may make a longer one.
  std::shared_ptr<const BiasTable> bias(int64_t length) const;

  // Whether it changes queries and keys.
  bool places() const { return kind_ == PositionKind::rope || kind_ == PositionKind::tupe; }
  // Puts the position into a query (columns) and a key, whose first Z numbers are there.
  void place(int64_t position, float* query, float* key) const;

  // Whether all of a score is divided by the length or sqrt(Z), not the product of contents alone.
  bool scales_all() const { return kind_ != PositionKind::tupe; }

 private:
  float offset_bias(int64_t offset) const;
  void add_rotary_biases(int64_t first, BiasTable& table) const;

  PositionKind kind_;
  bool causal_;
  int64_t shared_, positions_;
  std::span<const float> numbers_;       // of simple and T5
  std::vector<double> cosines_, sines_;  // of rotary: what cos and sin of each frequency are multiplied with
  std::vector<double> frequencies_;      // of rotary and RoPE
  std::vector<float> queries_, keys_;    // of TUPE: (positions, Z)

  struct Longest {
    std::mutex mutex;
    std::shared_ptr<const BiasTable> table;
  };
  std::unique_ptr<Longest> longest_ = std::make_unique<Longest>();
};

}  // namespace mega::infer
