#include "mega/data/batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mega/base/random.h"
#include "mega/text/tokens.h"

namespace mega::data {
namespace {

constexpr size_t kWindow = 64;  // batches that are sorted by length together

// Fisher and Yates; the standard library's shuffle differs between implementations.
template <class T>
void shuffle(std::span<T> items, uint64_t seed) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[stream_seed(seed, "shuffle", i) % i]);
}

// Cuts a row of examples into batches.
std::vector<std::vector<int64_t>> cut_batches(std::span<const int64_t> order,
                                              std::span<const int64_t> lengths, const BatchOptions& options) {
  std::vector<std::vector<int64_t>> batches;
  int64_t longest = 0;
  for (const int64_t example : order) {
    const int64_t with = std::max(longest, lengths[static_cast<size_t>(example)]);
    const auto size = static_cast<int64_t>(batches.empty() ? 0 : batches.back().size());
    const int64_t cost = options.unit == BatchUnit::tokens ? (size + 1) * with : size + 1;
    if (batches.empty() || cost > options.batch) {
      batches.emplace_back();
      longest = lengths[static_cast<size_t>(example)];
    } else {
      longest = with;
    }
    batches.back().push_back(example);
  }
  return batches;
}

std::vector<int64_t> all_examples(std::span<const int64_t> lengths) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Document make_document(const Part& part, const Encoder& encoder, std::span<const int64_t> examples,
                       int number) {
  Document document;
  document.channels = encoder.channels();
  std::vector<Sequence> sequences;
  for (const int64_t example : examples) {
    sequences.push_back(encoder.encode(part.records[static_cast<size_t>(example)], number));
    document.lengths.push_back(sequences.back().length);
    document.length = std::max(document.length, sequences.back().length);
  }
  for (const Sequence& sequence : sequences) {
    const auto missing = static_cast<size_t>(document.length - sequence.length);
    if (!sequence.tokens.empty()) {
      document.tokens.insert(document.tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
      document.tokens.insert(document.tokens.end(), missing, kPad);
    } else {
      document.values.insert(document.values.end(), sequence.values.begin(), sequence.values.end());
      document.values.insert(document.values.end(), missing * static_cast<size_t>(document.channels), 0.0F);
    }
  }
  return document;
}

}  // namespace

std::vector<std::vector<int64_t>> plan_epoch(std::span<const int64_t> lengths, const BatchOptions& options,
                                             uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order = all_examples(lengths);
  shuffle(std::span(order), stream_seed(seed, "order of examples", static_cast<uint64_t>(epoch)));
  if (!options.by_length) return cut_batches(order, lengths, options);

  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) /
                      static_cast<double>(std::max<size_t>(1, lengths.size()));
  const double per_batch = options.unit == BatchUnit::examples
                               ? static_cast<double>(options.batch)
                               : static_cast<double>(options.batch) / std::max(1.0, mean);
  const auto window = std::max<size_t>(1, static_cast<size_t>(per_batch * kWindow));
  std::vector<std::vector<int64_t>> batches;
  for (size_t begin = 0; begin < order.size(); begin += window) {
    const std::span<int64_t> part = std::span(order).subspan(begin, std::min(window, order.size() - begin));
    std::stable_sort(part.begin(), part.end(), [&](int64_t a, int64_t b) {
      return lengths[static_cast<size_t>(a)] < lengths[static_cast<size_t>(b)];
    });
    for (std::vector<int64_t>& batch : cut_batches(part, lengths, options))
      batches.push_back(std::move(batch));
  }
  shuffle(std::span(batches), stream_seed(seed, "order of batches", static_cast<uint64_t>(epoch)));
  return batches;
}

std::vector<std::vector<int64_t>> plan_once(std::span<const int64_t> lengths, const BatchOptions& options) {
  std::vector<int64_t> order = all_examples(lengths);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  });
  return cut_batches(order, lengths, options);
}

Batch make_batch(const Part& part, const Encoder& encoder, std::span<const int64_t> examples, int documents) {
  Batch batch;
  batch.examples.assign(examples.begin(), examples.end());
  for (int number = 0; number < documents; ++number) {
    batch.documents.push_back(make_document(part, encoder, examples, number));
    batch.positions += std::accumulate(batch.documents.back().lengths.begin(),
                                       batch.documents.back().lengths.end(), int64_t{0});
  }
  const size_t outputs = part.records.empty() ? 0 : part.targets.size() / part.records.size();
  for (const int64_t example : examples) {
    const auto i = static_cast<size_t>(example);
    batch.names.push_back(part.records[i].where);
    if (!part.labels.empty()) batch.labels.push_back(part.labels[i]);
    for (size_t k = 0; k < outputs; ++k) batch.targets.push_back(part.targets[i * outputs + k]);
  }
  return batch;
}

std::vector<int64_t> lengths_of(const Part& part, const Encoder& encoder, int documents) {
  std::vector<int64_t> lengths;
  for (const Record& record : part.records) {
    int64_t longest = 0;
    for (int number = 0; number < documents; ++number)
      longest = std::max(longest, encoder.length(record, number));
    lengths.push_back(longest);
  }
  return lengths;
}

}  // namespace mega::data
