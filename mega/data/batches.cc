#include "mega/data/batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/data/augment/mix.h"
#include "mega/data/augment/repeated_order.h"
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
    const int64_t length = lengths[static_cast<size_t>(example) % lengths.size()];  // a copy has the same
    const int64_t with = std::max(longest, length);
    const auto size = static_cast<int64_t>(batches.empty() ? 0 : batches.back().size());
    const int64_t cost = options.unit == BatchUnit::tokens ? (size + 1) * with : size + 1;
    if (batches.empty() || cost > options.batch) {
      batches.emplace_back();
      longest = length;
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

// Numbers of examples in their copies, as make_batch takes them.
std::vector<int64_t> repeated(std::span<const int64_t> order, int64_t repeats) {
  std::vector<int64_t> numbers;
  for (const Repetition& one : repeated_order(order, repeats))
    numbers.push_back(one.copy * std::ssize(order) + one.example);
  return numbers;
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

// Of an example in one of its copies.
Augmenter augmenter_for(const BatchContext& context, int64_t example, int64_t copy, int document) {
  if (!context.training) return {};
  const uint64_t epoch = stream_seed(context.seed, "augmentation", static_cast<uint64_t>(context.epoch));
  uint64_t own = stream_seed(epoch, "example", static_cast<uint64_t>(example));
  if (copy > 0) own = stream_seed(own, "copy", static_cast<uint64_t>(copy));
  return {context.augment, stream_seed(own, "document", static_cast<uint64_t>(document))};
}

// One example as a model reads it.
struct Encoded {
  std::string name;
  std::vector<Sequence> documents;

  size_t bytes() const {
    size_t sum = 0;
    for (const Sequence& document : documents)
      sum += document.tokens.size() * sizeof(Token) + document.values.size() * sizeof(float);
    return sum;
  }
};

// Pictures take long enough for several threads to be worth it.
int64_t thread_count(int64_t wanted, const Encoder& encoder) {
  if (wanted > 0) return wanted;
  return std::holds_alternative<ImageInput>(encoder.signature().input.input) ? kAllCores : 1;
}

// Mixes the pictures of a batch with each other. How is a function of seed, epoch and the batch's examples.
void mix_batch(Batch& batch, const Encoder& encoder, std::span<const int64_t> numbers,
               const BatchContext& context) {
  const auto* image = std::get_if<ImageInput>(&encoder.signature().input.input);
  const auto classes = std::ssize(encoder.signature().classes);
  require(image != nullptr && classes > 0 && !batch.targets.classes.empty(),
          "augment.image.mixup and cutmix mix pictures that have classes; turn them off");
  uint64_t seed = stream_seed(context.seed, "mix", static_cast<uint64_t>(context.epoch));
  for (const int64_t number : numbers) seed = stream_seed(seed, "example", static_cast<uint64_t>(number));
  Random draws(seed);
  const PictureShape shape = {image->height, image->width, image->channels};
  const Mix mix = draw_mix(context.augment.image, shape, draws);
  mix_pictures(batch.inputs.front().values, shape, mix);
  batch.targets.soft = mix_labels(batch.targets.classes, classes, mix);
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
  if (options.augment.image.repeats > 1) order = repeated(order, options.augment.image.repeats);
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
      return lengths[static_cast<size_t>(a) % lengths.size()] <
             lengths[static_cast<size_t>(b) % lengths.size()];
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
  std::vector<std::vector<Sequence>> sequences(static_cast<size_t>(documents));
  const size_t outputs = part.outputs();
  const auto encode = [&](int64_t k) {
    const int64_t number = examples[static_cast<size_t>(k)], copy = number / part.size();
    const Record record = part.get(number % part.size());
    Encoded encoded{record.where, {}};
    for (int document = 0; document < documents; ++document)
      encoded.documents.push_back(
          encoder.encode(record, document, augmenter_for(context, number % part.size(), copy, document)));
    return encoded;
  };
  const auto add = [&](int64_t k, Encoded&& encoded) {
    const int64_t example = examples[static_cast<size_t>(k)] % part.size();
    for (size_t document = 0; document < sequences.size(); ++document)
      sequences[document].push_back(std::move(encoded.documents[document]));
    const auto i = static_cast<size_t>(example);
    batch.examples.push_back(example);
    batch.names.push_back(std::move(encoded.name));
    if (!part.labels.empty()) batch.targets.classes.push_back(part.labels[i]);
    for (size_t o = 0; o < outputs; ++o) batch.targets.numbers.push_back(part.targets[i * outputs + o]);
  };
  in_order(
      std::ssize(examples), encode, [](const Encoded& encoded) { return encoded.bytes(); }, add,
      thread_count(context.threads, encoder));
  for (const std::vector<Sequence>& document : sequences) {
    batch.inputs.push_back(padded(document, encoder.channels()));
    const std::vector<int64_t>& lengths = batch.inputs.back().lengths;
    batch.positions += std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  }
  if (context.training && context.augment.image.mixes()) mix_batch(batch, encoder, examples, context);
  return batch;
}

std::vector<int64_t> count_lengths(const Part& part, const Encoder& encoder, int documents) {
  if (const auto fixed = encoder.fixed_length()) return std::vector<int64_t>(part.numbers.size(), *fixed);
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
