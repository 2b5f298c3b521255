#include "mega/data/batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mega/base/random.h"
#include "mega/data/in_order.h"
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

// Pads the sequences, one of each example, to the longest.
SequenceSet padded(const std::vector<Sequence>& sequences, int64_t channels) {
  SequenceSet set;
  set.channels = channels;
  for (const Sequence& sequence : sequences) {
    set.lengths.push_back(sequence.length);
    set.length = std::max(set.length, sequence.length);
  }
  for (const Sequence& sequence : sequences) {
    const auto missing = static_cast<size_t>(set.length - sequence.length);
    if (!sequence.tokens.empty()) {
      set.tokens.insert(set.tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
      set.tokens.insert(set.tokens.end(), missing, kPad);
    } else {
      set.values.insert(set.values.end(), sequence.values.begin(), sequence.values.end());
      set.values.insert(set.values.end(), missing * static_cast<size_t>(channels), 0.0F);
    }
  }
  return set;
}

Augmenter augmenter_for(const BatchContext& context, int64_t example, int document) {
  if (!context.training) return {};
  const uint64_t epoch = stream_seed(context.seed, "augmentation", static_cast<uint64_t>(context.epoch));
  const uint64_t own = stream_seed(epoch, "example", static_cast<uint64_t>(example));
  return {context.augment, stream_seed(own, "document", static_cast<uint64_t>(document))};
}

int64_t longest_document(const Record& record, const Encoder& encoder, int documents) {
  int64_t longest = 0;
  for (int number = 0; number < documents; ++number)
    longest = std::max(longest, encoder.length(record, number));
  return longest;
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

Batch make_batch(const Part& part, const Encoder& encoder, std::span<const int64_t> examples, int documents,
                 const BatchContext& context) {
  Batch batch;
  batch.examples.assign(examples.begin(), examples.end());
  std::vector<std::vector<Sequence>> sequences(static_cast<size_t>(documents));
  const size_t outputs = part.outputs();
  for (const int64_t example : examples) {
    const Record record = part.get(example);
    for (int number = 0; number < documents; ++number)
      sequences[static_cast<size_t>(number)].push_back(
          encoder.encode(record, number, augmenter_for(context, example, number)));
    const auto i = static_cast<size_t>(example);
    batch.names.push_back(record.where);
    if (!part.labels.empty()) batch.targets.classes.push_back(part.labels[i]);
    for (size_t k = 0; k < outputs; ++k) batch.targets.numbers.push_back(part.targets[i * outputs + k]);
  }
  for (const std::vector<Sequence>& document : sequences) {
    batch.inputs.push_back(padded(document, encoder.channels()));
    const std::vector<int64_t>& lengths = batch.inputs.back().lengths;
    batch.positions += std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  }
  return batch;
}

std::vector<int64_t> count_lengths(const Part& part, const Encoder& encoder, int documents) {
  constexpr int64_t kTogether = 64;  // examples that a thread takes at a time
  std::vector<int64_t> lengths;
  lengths.reserve(part.numbers.size());
  const auto count = [&](int64_t group) {
    std::vector<int64_t> some;
    for (int64_t i = group * kTogether; i < std::min((group + 1) * kTogether, part.size()); ++i)
      some.push_back(longest_document(part.get(i), encoder, documents));
    return some;
  };
  in_order((part.size() + kTogether - 1) / kTogether, count, [](const auto&) { return 0; },
           [&](int64_t, const std::vector<int64_t>& some) {
             lengths.insert(lengths.end(), some.begin(), some.end());
           });
  return lengths;
}

void measure(Part& part, const Encoder& encoder, int documents) {
  part.lengths = count_lengths(part, encoder, documents);
}

std::vector<int64_t> lengths_of(const Part& part, const Encoder& encoder, int documents) {
  return part.lengths.empty() ? count_lengths(part, encoder, documents) : part.lengths;
}

}  // namespace mega::data
