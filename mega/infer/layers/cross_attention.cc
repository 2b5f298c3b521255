#include "mega/infer/layers/cross_attention.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "mega/kernels/attention.h"
#include "mega/kernels/attention_step.h"
#include "mega/kernels/gates.h"

namespace mega::infer {
namespace {

using kernels::ConstRows;
using kernels::Rows;

// Keys of a single query per task; a sentence is rarely longer.
constexpr int64_t kKeyRange = 512;
// Queries of a block per task.
constexpr int64_t kQueryRange = 128;

ConstRows constant(Rows rows) { return {rows.data, rows.stride}; }
Rows columns_from(Rows rows, int64_t column) { return {rows.data + column, rows.stride}; }

// Never chunked, never causal.
BlockOptions of_sources(BlockOptions options) {
  options.chunk = -1;
  options.causal = false;
  return options;
}

}  // namespace

int64_t Sources::longest() const {
  int64_t most = 0;
  for (const SourceRange& range : ranges) most = std::max(most, range.length);
  return most;
}

CrossAttention::CrossAttention(WeightFile& file, const std::string& name, const BlockOptions& options)
    : options_(of_sources(options)),
      norm_(file, name + ".norm", options.width, plain_norm(options.norm), options.affine),
      keys_(file, name + ".k_proj", options.shared, options.width),
      values_(file, name + ".v_proj", options.width, options.width),
      mixed_(file, name + ".q_proj", 2 * options.width + options.shared, options.width),
      candidate_(file, name + ".h_proj", options.width, options.width),
      position_(file, name + ".rel_pos_bias", options_) {}

// The source is not normalised, also with prenorm, as released.
SourceKeys CrossAttention::read(ConstRows encoded, std::span<const SourceRange> ranges,
                                const Run& run) const {
  int64_t rows = 0;
  for (const SourceRange& range : ranges) {
    check_length(range.length);
    rows += range.length;
  }
  const int64_t d = options_.width, columns = position_.columns();
  SourceKeys made;
  made.keys.resize(static_cast<size_t>(rows * columns));
  made.values.resize(static_cast<size_t>(rows * d));
  const Rows keys{made.keys.data(), columns}, values{made.values.data(), d};
  const Product products[] = {{keys_, encoded, keys}, {values_, encoded, values}};
  multiply(products, rows, run);
  run.rows(rows, d, [&](int64_t begin, int64_t end) {
    kernels::activate(options_.activation, {}, constant(values), values, begin, end, d);
  });
  if (position_.places())
    for (const SourceRange& range : ranges)
      for (int64_t i = 0; i < range.length; ++i) position_.place(i, nullptr, keys[range.begin + i]);
  return made;
}

// 1 / sqrt(Z) for softmax, otherwise 1 / number of keys.
float CrossAttention::scale(int64_t keys) const {
  if (options_.attention == AttentionFunction::softmax)
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(options_.shared)));
  return 1.0f / static_cast<float>(keys);
}

// Single queries read the keys where they are, piece by piece; blocks of queries go through the kernel of
// training.
class CrossAttention::Attention {
 public:
  Attention(const CrossAttention& layer, Rows queries, std::span<const Segment> segments,
            std::span<const SourceRange> ranges, const SourceKeys& source, const AttentionWeights* weights,
            Rows out, const Run& run)
      : layer_(layer), queries_(queries), source_(source), weights_(weights), out_(out), run_(run) {
    int64_t reach = 1;
    for (const Segment& segment : segments)
      reach = std::max({reach, segment.position() + segment.length, ranges[segment.source].length});
    bias_ = layer.position_.bias(reach);
    for (const Segment& segment : segments) {
      place(segment, ranges[segment.source].length);
      if (segment.length == 1) {
        add_step(segment, ranges[segment.source]);
      } else {
        add_block(segment, ranges[segment.source]);
      }
    }
    run_steps();
    run_blocks();
  }

 private:
  // One query and a piece of its keys.
  struct Step {
    kernels::AttentionStep step;
    kernels::KeyValuePage keys;
    int64_t row, first_key;
  };
  struct Query {
    int64_t row, first_step, steps;
  };
  struct Block {
    kernels::AttentionBlock block;
    int64_t begin, end;
    float* out;  // of the block's first query
  };

  int64_t width() const { return layer_.options_.width; }

  void place(const Segment& segment, int64_t keys) const {
    const Position& position = layer_.position_;
    if (!position.places()) return;
    for (int64_t i = 0; i < segment.length; ++i) {
      float* query = queries_[segment.begin + i];
      position.place(segment.position() + i, query, nullptr);
      if (position.scales_all()) continue;
      for (int64_t c = 0; c < layer_.options_.shared; ++c) query[c] *= layer_.scale(keys);
    }
  }

  float scale(int64_t keys) const { return layer_.position_.scales_all() ? layer_.scale(keys) : 1.0f; }

  void add_step(const Segment& segment, const SourceRange& range) {
    const int64_t columns = layer_.position_.columns();
    const Query query{segment.begin, std::ssize(steps_), (range.length + kKeyRange - 1) / kKeyRange};
    for (int64_t key = 0; key < range.length; key += kKeyRange) {
      kernels::AttentionStep step{layer_.options_.attention, columns, width(), queries_[segment.begin],
                                  scale(range.length),       nullptr};
      if (bias_ != nullptr) step.bias = bias_->at_zero() + key - segment.position();
      const int64_t row = range.begin + key;
      steps_.push_back({step,
                        {kernels::WeightType::f32, source_.keys.data() + row * columns,
                         source_.values.data() + row * width(), std::min(kKeyRange, range.length - key)},
                        segment.begin,
                        key});
    }
    steps_of_.push_back(query);
  }

  void add_block(const Segment& segment, const SourceRange& range) {
    const int64_t columns = layer_.position_.columns();
    kernels::AttentionBlock block;
    block.queries = segment.length;
    block.keys = range.length;
    block.shared = columns;
    block.values = width();
    block.q = queries_[segment.begin];
    block.q_stride = queries_.stride;
    block.k = source_.keys.data() + range.begin * columns;
    block.k_stride = columns;
    block.v = source_.values.data() + range.begin * width();
    block.v_stride = width();
    block.function = layer_.options_.attention;
    block.first_position = segment.position();
    block.scale = scale(range.length);
    block.bias = bias_ == nullptr ? nullptr : bias_->at_zero();
    for (int64_t begin = 0; begin < segment.length; begin += kQueryRange)
      blocks_.push_back({block, begin, std::min(segment.length, begin + kQueryRange), out_[segment.begin]});
  }

  void run_steps() {
    if (steps_.empty()) return;
    float* outs = run_.work.floats(Workspace::kPartials, std::ssize(steps_) * width());
    std::vector<kernels::PartialAttention> partials(steps_.size());
    // Hypotheses of one source follow each other, and so find its keys and values in the cache.
    run_.pool.run(std::ssize(steps_), 1, [&](int64_t begin, int64_t end) {
      alignas(kCacheLine) float scores[kKeyRange];
      for (int64_t i = begin; i < end; ++i) {
        const Step& step = steps_[static_cast<size_t>(i)];
        kernels::PartialAttention& partial = partials[static_cast<size_t>(i)];
        partial.out = outs + i * width();
        kernels::attention_step(step.step, step.keys, scores, partial);
        if (weights_ != nullptr)
          std::copy_n(scores, step.keys.count, weights_->rows[step.row] + step.first_key);
      }
    });
    run_.rows(std::ssize(steps_of_), width(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Query& query = steps_of_[static_cast<size_t>(i)];
        kernels::merge_attention(layer_.options_.attention, partials.data() + query.first_step, query.steps,
                                 width(), out_[query.row]);
        if (weights_ != nullptr) normalize(query, partials);
      }
    });
  }

  // The weights of each piece are relative to its own maximum.
  void normalize(const Query& query, const std::vector<kernels::PartialAttention>& partials) const {
    if (layer_.options_.attention != AttentionFunction::softmax) return;
    const auto first = partials.begin() + query.first_step, last = first + query.steps;
    float maximum = first->maximum, sum = 0.0f;
    for (auto partial = first; partial != last; ++partial) maximum = std::max(maximum, partial->maximum);
    for (auto partial = first; partial != last; ++partial)
      sum += partial->sum * std::exp(partial->maximum - maximum);
    for (int64_t i = 0; i < query.steps; ++i) {
      const Step& step = steps_[static_cast<size_t>(query.first_step + i)];
      const float factor = std::exp(first[i].maximum - maximum) / sum;
      float* weights = weights_->rows[step.row] + step.first_key;
      for (int64_t key = 0; key < step.keys.count; ++key) weights[key] *= factor;
    }
  }

  void run_blocks() const {
    if (blocks_.empty()) return;
    const int64_t scratch = kernels::attention_scratch(kQueryRange, layer_.position_.columns(), width());
    run_.pool.run(std::ssize(blocks_), 1, [&](int64_t begin, int64_t end) {
      float* memory = scratch_of_thread(scratch);
      float normalizer[kQueryRange];
      for (int64_t i = begin; i < end; ++i) {
        const Block& block = blocks_[static_cast<size_t>(i)];
        kernels::attention_forward(block.block, block.begin, block.end, block.out, out_.stride,
                                   normalizer - block.begin, memory);
      }
    });
  }

  const CrossAttention& layer_;
  Rows queries_;
  const SourceKeys& source_;
  const AttentionWeights* weights_;
  Rows out_;
  const Run& run_;
  std::shared_ptr<const BiasTable> bias_;
  std::vector<Step> steps_;
  std::vector<Query> steps_of_;
  std::vector<Block> blocks_;
};

// Like the Mega layer, but without EMA, with linear queries and keys, and with a candidate computed from the
// attention alone.
void CrossAttention::forward(Rows x, int64_t rows, std::span<const Segment> segments,
                             std::span<const SourceRange> ranges, const SourceKeys& source,
                             const AttentionWeights* weights, const Run& run) const {
  const int64_t d = options_.width, z = options_.shared;
  const auto rows_of = [&](Workspace::Purpose purpose, int64_t columns) {
    return Rows{run.work.floats(purpose, rows * columns), columns};
  };
  Rows input = x;
  if (options_.prenorm) {
    input = rows_of(Workspace::kNormed, d);
    norm_.forward(constant(x), input, rows, run);
  }
  const Rows mixed = rows_of(Workspace::kMixed, 2 * d + z);
  multiply(mixed_, constant(input), mixed, rows, run);
  const Rows update = mixed, reset = columns_from(mixed, d);
  Rows queries = columns_from(mixed, 2 * d);
  if (position_.places()) {
    const Rows placed = rows_of(Workspace::kQueries, position_.columns());
    for (int64_t row = 0; row < rows; ++row) std::copy_n(queries[row], z, placed[row]);
    queries = placed;
  }
  const Rows attended = rows_of(Workspace::kAttended, d);
  Attention(*this, queries, segments, ranges, source, weights, attended, run);
  run.rows(rows, d, [&](int64_t begin, int64_t end) {
    kernels::gate(constant(attended), constant(reset), attended, begin, end, d);
  });
  const Rows candidate = rows_of(Workspace::kCandidate, d);
  multiply(candidate_, constant(attended), candidate, rows, run);
  run.rows(rows, d, [&](int64_t begin, int64_t end) {
    const kernels::OutputGate gate{
        options_.activation, {}, constant(update), constant(candidate), constant(x)};
    kernels::output_gate(gate, x, begin, end, d);
  });
  if (!options_.prenorm) norm_.forward(constant(x), x, rows, run);
}

}  // namespace mega::infer
