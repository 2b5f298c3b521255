#include "mega/infer/layers/position.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/kernels/attention.h"

namespace mega::infer {

BiasTable::BiasTable(int64_t reach, bool causal)
    : reach_(reach), values_(static_cast<size_t>(reach + 1 + (causal ? 0 : reach) + kernels::kBiasSlack)) {}

Position::Position(WeightFile& file, const std::string& name, const BlockOptions& options)
    : kind_(options.position),
      causal_(options.causal),
      shared_(options.shared),
      positions_(options.chunk > 0 ? options.chunk : options.max_positions) {
  const int64_t half = shared_ / 2;
  if (kind_ == PositionKind::rotary || kind_ == PositionKind::rope)
    for (int64_t k = 0; k < half; ++k)
      frequencies_.push_back(
          std::exp(static_cast<double>(k) * (-std::log(10000.0) / static_cast<double>(half))));
  switch (kind_) {
    case PositionKind::simple:
      numbers_ = file.numbers(name + ".rel_pos_bias", 2 * positions_ - 1);
      break;
    case PositionKind::t5:
      numbers_ = file.numbers(name + ".relative_attention_bias", 32);
      break;
    case PositionKind::rotary: {
      // Rot(alpha)_i . Rot(beta)_j = sum_k (a1 b1 + a2 b2) cos((i-j) theta_k) + (a1 b2 - a2 b1) sin(...)
      const auto alpha = file.numbers(name + ".alpha", shared_), beta = file.numbers(name + ".beta", shared_);
      for (int64_t k = 0; k < half; ++k) {
        const auto a1 = static_cast<double>(alpha[static_cast<size_t>(k)]);
        const auto a2 = static_cast<double>(alpha[static_cast<size_t>(half + k)]);
        const auto b1 = static_cast<double>(beta[static_cast<size_t>(k)]);
        const auto b2 = static_cast<double>(beta[static_cast<size_t>(half + k)]);
        cosines_.push_back(a1 * b1 + a2 * b2);
        sines_.push_back(a1 * b2 - a2 * b1);
      }
      break;
    }
    case PositionKind::tupe: {
      // (p_i U_q) . (p_j U_k) / sqrt(Z)
      const auto table = file.numbers(name + ".positions", positions_ * shared_);
      const auto project = [&](const char* matrix, double scale) {
        const auto weights = file.numbers(name + matrix, shared_ * shared_);
        std::vector<float> rows(table.size());
        std::vector<double> row(static_cast<size_t>(shared_));
        for (size_t p = 0; p < rows.size(); p += row.size()) {
          std::fill(row.begin(), row.end(), 0.0);
          for (size_t i = 0; i < row.size(); ++i)
            for (size_t j = 0; j < row.size(); ++j)
              row[j] += static_cast<double>(table[p + i]) * static_cast<double>(weights[i * row.size() + j]);
          for (size_t j = 0; j < row.size(); ++j) rows[p + j] = static_cast<float>(row[j] * scale);
        }
        return rows;
      };
      queries_ = project(".query", 1.0 / std::sqrt(static_cast<double>(shared_)));
      keys_ = project(".key", 1.0);
      break;
    }
    case PositionKind::none:
    case PositionKind::rope:
    case PositionKind::alibi:
      break;
  }
}

void Position::check_length(int64_t length) const {
  const bool bounded = kind_ == PositionKind::simple || kind_ == PositionKind::tupe;
  require(!bounded || length <= positions_, "the model has ", positions_, " positions, the sequence has ",
          length, ": shorten it");
}

// The bias of a key `offset` positions after the query.
float Position::offset_bias(int64_t offset) const {
  switch (kind_) {
    case PositionKind::simple:
      return numbers_[static_cast<size_t>(positions_ - 1 + offset)];
    case PositionKind::t5: {
      // Small offsets have a bucket each, larger ones share logarithmic buckets (Raffel et al. 2020).
      const int64_t buckets = causal_ ? 32 : 16, exact = buckets / 2;
      const int64_t distance = causal_ ? std::max<int64_t>(0, -offset) : std::abs(offset);
      int64_t bucket = distance;
      if (distance >= exact) {
        const double ratio = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                             std::log(128.0 / static_cast<double>(exact));
        bucket =
            static_cast<int64_t>(static_cast<double>(exact) + ratio * static_cast<double>(buckets - exact));
        bucket = std::min(bucket, buckets - 1);
      }
      if (!causal_ && offset > 0) bucket += buckets;
      return numbers_[static_cast<size_t>(bucket)];
    }
    case PositionKind::alibi:
      return static_cast<float>(-std::exp2(-8.0) * static_cast<double>(std::abs(offset)));
    case PositionKind::rotary:  // see rotary_biases
    case PositionKind::none:
    case PositionKind::rope:
    case PositionKind::tupe:
      break;
  }
  return 0.0f;
}

// Cosine and sine of each frequency are updated from distance to distance by a rotation, in double: calling
// cos and sin for each would cost more than a token of the model.
void Position::add_rotary_biases(int64_t first, BiasTable& table) const {
  const auto count = static_cast<size_t>(table.reach() + 1 - first);
  std::vector<double> past(count), future(count);
  for (size_t k = 0; k < frequencies_.size(); ++k) {
    const double begin = static_cast<double>(first) * frequencies_[k];
    double cosine = std::cos(begin), sine = std::sin(begin);
    const double turn_cosine = std::cos(frequencies_[k]), turn_sine = std::sin(frequencies_[k]);
    for (size_t i = 0; i < count; ++i) {
      past[i] += cosines_[k] * cosine + sines_[k] * sine;
      future[i] += cosines_[k] * cosine - sines_[k] * sine;
      const double next = cosine * turn_cosine - sine * turn_sine;
      sine = sine * turn_cosine + cosine * turn_sine;
      cosine = next;
    }
  }
  float* values = table.at_zero();
  for (size_t i = 0; i < count; ++i) {
    const int64_t distance = first + static_cast<int64_t>(i);
    if (!causal_) values[distance] = static_cast<float>(future[i]);
    values[-distance] = static_cast<float>(past[i]);
  }
}

std::shared_ptr<const BiasTable> Position::bias(int64_t length) const {
  check_length(length);
  if (kind_ == PositionKind::none || kind_ == PositionKind::rope || kind_ == PositionKind::tupe)
    return nullptr;
  const std::lock_guard<std::mutex> lock(longest_->mutex);
  std::shared_ptr<const BiasTable>& longest = longest_->table;
  if (longest != nullptr && longest->reach() >= length - 1) return longest;
  constexpr int64_t kFirst = 256;
  const int64_t known = longest == nullptr ? -1 : longest->reach();
  int64_t reach = std::max({length - 1, kFirst - 1, 2 * known});
  if (kind_ == PositionKind::simple) reach = std::min(reach, positions_ - 1);
  auto table = std::make_shared<BiasTable>(reach, causal_);
  float* values = table->at_zero();
  const int64_t last = causal_ ? 0 : reach;
  for (int64_t offset = -reach; offset <= last; ++offset)
    values[offset] = std::abs(offset) <= known ? longest->at_zero()[offset] : offset_bias(offset);
  if (kind_ == PositionKind::rotary) add_rotary_biases(known + 1, *table);
  longest = std::move(table);
  return longest;
}

void Position::place(int64_t position, float* query, float* key) const {
  const auto shared = static_cast<size_t>(shared_);
  if (kind_ == PositionKind::tupe) {
    check_length(position + 1);
    const size_t row = static_cast<size_t>(position) * shared;
    if (query != nullptr) std::copy_n(queries_.data() + row, shared, query + shared);
    if (key != nullptr) std::copy_n(keys_.data() + row, shared, key + shared);
  } else if (kind_ == PositionKind::rope) {
    const size_t half = frequencies_.size();
    for (size_t k = 0; k < half; ++k) {
      const double angle = static_cast<double>(position) * frequencies_[k];
      const auto cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
      for (float* x : {query, key}) {
        if (x == nullptr) continue;
        const float x1 = x[k], x2 = x[half + k];
        x[k] = x1 * cosine - x2 * sine;
        x[half + k] = x2 * cosine + x1 * sine;
      }
    }
  }
}

}  // namespace mega::infer
