#include "mega/data/encoder.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"

namespace mega::data {
namespace {

// What stays of a real sequence of `length` positions.
int64_t cut(int64_t length, int64_t most) { return most > 0 ? std::min(length, most) : length; }

int64_t max_length(const InputOptions& input) {
  if (const auto* audio = std::get_if<AudioInput>(&input.input)) return audio->length;
  if (const auto* series = std::get_if<SeriesInput>(&input.input)) return series->max_length;
  return 0;
}

}  // namespace

Encoder::Encoder(Signature signature, Token cls, std::shared_ptr<const Tokenizer> tokenizer)
    : signature_(std::move(signature)), cls_(cls), tokenizer_(std::move(tokenizer)) {
  if (tokenizer_ == nullptr) tokenizer_ = make_tokenizer(signature_, INT64_MAX);
}

int64_t Encoder::channels() const { return channels_of(signature_.input); }

Sequence Encoder::encode(const Record& record, int document) const {
  Sequence sequence;
  if (const auto* text = std::get_if<TextInput>(&signature_.input.input)) {
    sequence.tokens =
        tokenizer_->encode_document(document == 0 ? record.bytes : record.second, text->max_length);
    if (cls_ >= 0) sequence.tokens.insert(sequence.tokens.begin(), cls_);
    sequence.length = static_cast<int64_t>(sequence.tokens.size());
    return sequence;
  }
  if (const auto* image = std::get_if<ImageInput>(&signature_.input.input)) {
    require(static_cast<int64_t>(record.bytes.size()) == image->height * image->width, record.where, ": ",
            record.bytes.size(), " pixels where the input is ", image->height, " by ", image->width);
    sequence.values.reserve(record.bytes.size());
    for (const char byte : record.bytes) {
      const double grey = static_cast<double>(static_cast<unsigned char>(byte)) / 255.0;
      sequence.values.push_back(static_cast<float>((grey - image->mean) / image->deviation));
    }
    sequence.length = static_cast<int64_t>(sequence.values.size());
    return sequence;
  }
  require(static_cast<int64_t>(record.values.size()) % channels() == 0, record.where, ": ",
          record.values.size(), " numbers do not divide into positions of ", channels(), " channels");
  sequence.length = length(record);
  sequence.values =
      standardize(std::span(record.values).first(static_cast<size_t>(sequence.length * channels())));
  return sequence;
}

std::vector<float> Encoder::standardize(std::span<const float> values) const {
  std::vector<float> result(values.begin(), values.end());
  const std::vector<float>&mean = signature_.mean, &deviation = signature_.deviation;
  if (mean.empty()) return result;
  // One statistic per channel, or per position and channel; the last position's stands for all beyond it.
  const size_t period = static_cast<size_t>(channels());
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t s = i < mean.size() ? i : mean.size() - period + i % period;
    result[i] = (result[i] - mean[s]) / deviation[s];
  }
  return result;
}

int64_t Encoder::length(const Record& record, int document) const {
  if (const auto* text = std::get_if<TextInput>(&signature_.input.input))
    return tokenizer_->document_length(document == 0 ? record.bytes : record.second, text->max_length) +
           (cls_ >= 0 ? 1 : 0);
  if (std::holds_alternative<ImageInput>(signature_.input.input))
    return static_cast<int64_t>(record.bytes.size());
  return cut(static_cast<int64_t>(record.values.size()) / channels(), max_length(signature_.input));
}

void fit_statistics(Signature& signature, std::span<const Record> records) {
  signature.mean.clear();
  signature.deviation.clear();
  const Standardize kind = standardization(signature.input);
  if (kind == Standardize::none || records.empty()) return;

  const int64_t channels = channels_of(signature.input), most = max_length(signature.input);
  const auto read_size = [&](const Record& record) {
    return static_cast<size_t>(cut(static_cast<int64_t>(record.values.size()) / channels, most) * channels);
  };
  auto size = static_cast<size_t>(channels);
  if (kind == Standardize::position)
    for (const Record& record : records) size = std::max(size, read_size(record));
  // Calls f with each number that is read and the statistic it belongs to.
  const auto for_each = [&](const auto& f) {
    for (const Record& record : records)
      for (size_t i = 0, end = read_size(record); i < end; ++i)
        f(i % size, static_cast<double>(record.values[i]));
  };

  std::vector<double> counts(size), means(size), squares(size);
  for_each([&](size_t s, double x) {
    counts[s] += 1.0;
    means[s] += x;
  });
  for (size_t s = 0; s < size; ++s) means[s] /= std::max(1.0, counts[s]);
  // A second pass: the difference of large sums would lose the deviation of numbers far from zero.
  for_each([&](size_t s, double x) { squares[s] += (x - means[s]) * (x - means[s]); });
  for (size_t s = 0; s < size; ++s) {
    const double deviation = std::sqrt(squares[s] / std::max(1.0, counts[s]));
    signature.mean.push_back(static_cast<float>(means[s]));
    signature.deviation.push_back(static_cast<float>(deviation + 1e-5));  // as released
  }
}

}  // namespace mega::data
