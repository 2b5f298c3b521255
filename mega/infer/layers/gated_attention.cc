#include "mega/infer/layers/gated_attention.h"

#include <algorithm>

#include "mega/kernels/add.h"
#include "mega/kernels/gates.h"

namespace mega::infer {
namespace {

using kernels::ConstRows;
using kernels::Rows;

ConstRows constant(Rows rows) { return {rows.data, rows.stride}; }
Rows columns_from(Rows rows, int64_t column) { return {rows.data + column, rows.stride}; }

}  // namespace

GatedAttention::GatedAttention(WeightFile& file, const std::string& name, const BlockOptions& options)
    : options_(options),
      arithmetic_(file.arithmetic()),
      values_(file, name + ".v_proj", options.values, options.width),
      mixed_(file, name + ".mx_proj", options.shared + options.values + 2 * options.width, options.width),
      candidate_(file, name + ".h_proj", options.width, options.values),
      gamma_(file.numbers(name + ".gamma", 2 * options.shared).data()),
      beta_(file.numbers(name + ".beta", 2 * options.shared).data()),
      position_(file, name + ".rel_pos_bias", options) {
  if (options.norm == NormKind::timestep)
    timestep_norm_.emplace(file, name + ".norm", options.width, options.norm_groups, options.affine);
  else
    norm_.emplace(file, name + ".norm", options.width, options.norm, options.affine);
  if (options.ema.dimension > 0) average_.emplace(file, name + ".move", options.width, options.ema);
}

BlockState GatedAttention::initial_state(kernels::WeightType type, int64_t page) const {
  BlockState state;
  if (average_) state.averages.resize(static_cast<size_t>(average_->state_size()));
  if (timestep_norm_) state.statistics.resize(static_cast<size_t>(timestep_norm_->state_size()));
  state.cache = KeyValueCache(position_.columns(), options_.values, type, page);
  return state;
}

void GatedAttention::check_length(int64_t length) const {
  position_.check_length(options_.chunk > 0 ? std::min(options_.chunk, length) : length);
}

void GatedAttention::forward(Rows x, int64_t rows, std::span<const Segment> segments, size_t index,
                             const Run& run) const {
  const int64_t d = options_.width, z = options_.shared, v = options_.values;
  const auto rows_of = [&](Workspace::Purpose purpose, int64_t columns) {
    return Rows{run.work.floats(purpose, rows * columns), columns};
  };
  const kernels::Dropout none;

  Rows input = x;
  if (options_.prenorm) {
    input = rows_of(Workspace::kNormed, d);
    normalize(constant(x), input, rows, segments, index, run);
  }
  Rows averaged = input;
  if (average_) {
    averaged = rows_of(Workspace::kAveraged, d);
    average_->forward(constant(input), averaged, segments, index, run);  // 6
  }
  const Rows mixed = rows_of(Workspace::kMixed, 2 * d + z + v), values = rows_of(Workspace::kValues, v);
  const Product products[] = {{mixed_, constant(averaged), mixed}, {values_, constant(input), values}};
  multiply(products, rows, run);
  const Rows update = mixed, shared = columns_from(mixed, d), reset = columns_from(mixed, d + z),
             candidate = columns_from(mixed, d + z + v);

  const AttentionRows attention{rows_of(Workspace::kQueries, position_.columns()),
                                rows_of(Workspace::kKeys, position_.columns()), values};
  run.rows(rows, z + v, [&](int64_t begin, int64_t end) {
    kernels::share(constant(shared), gamma_, beta_, attention.queries, attention.keys, begin, end,
                   z);                                                                      // 7, 8, 9
    kernels::activate(options_.activation, none, constant(values), values, begin, end, v);  // 10
  });
  place(attention, segments, run);
  const Rows attended = rows_of(Workspace::kAttended, v);
  attend({options_, position_, arithmetic_}, attention, segments, index, attended, run);  // 11

  run.rows(rows, v, [&](int64_t begin, int64_t end) {
    kernels::gate(constant(attended), constant(reset), attended, begin, end, v);  // 12
  });
  const Rows from_attention = rows_of(Workspace::kCandidate, d);
  multiply(candidate_, constant(attended), from_attention, rows, run);
  run.rows(rows, d, [&](int64_t begin, int64_t end) {
    kernels::add(constant(candidate), constant(from_attention), candidate, begin, end, d);
    // 13 to 15; the gate is applied to the un-normalised input, also with prenorm.
    const kernels::OutputGate gate{options_.activation, none, constant(update), constant(candidate),
                                   constant(x)};
    kernels::output_gate(gate, x, begin, end, d);
  });
  if (!options_.prenorm) normalize(constant(x), x, rows, segments, index, run);
}

void GatedAttention::normalize(ConstRows x, Rows y, int64_t rows, std::span<const Segment> segments,
                               size_t index, const Run& run) const {
  if (timestep_norm_) return timestep_norm_->forward(x, y, segments, index, run);
  norm_->forward(x, y, rows, run);
}

void GatedAttention::place(const AttentionRows& rows, std::span<const Segment> segments,
                           const Run& run) const {
  if (!position_.places()) return;
  for (const Segment& segment : segments) {
    run.rows(segment.length, options_.shared, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t position = segment.position() + i;
        position_.place(options_.chunk > 0 ? position % options_.chunk : position,
                        rows.queries[segment.begin + i], rows.keys[segment.begin + i]);
      }
    });
  }
}

}  // namespace mega::infer
