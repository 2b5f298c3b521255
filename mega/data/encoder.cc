#include "mega/data/encoder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "mega/base/error.h"
#include "mega/data/augment/picture_changes.h"

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
  validate(signature_.input);
  if (tokenizer_ == nullptr) tokenizer_ = make_tokenizer(signature_, INT64_MAX);
}

int64_t Encoder::channels() const { return channels_of(signature_.input); }

std::vector<Token> Encoder::augmented_tokens(const std::string& text, int64_t max_length,
                                             const Augmenter& augmenter) const {
  std::vector<Token> tokens =
      tokenizer_->encode_document(augmenter.drop_bytes(text), augmenter.crops() ? 0 : max_length);
  if (augmenter.crops()) augmenter.crop(tokens, max_length);
  return tokens;
}

Sequence Encoder::encode(const Record& record, int document, const Augmenter& augmenter) const {
  Sequence sequence;
  if (const auto* text = std::get_if<TextInput>(&signature_.input.input)) {
    const std::string& written = document == 0 ? record.bytes : record.second;
    sequence.tokens = augmenter.changes_texts() ? augmented_tokens(written, text->max_length, augmenter)
                                                : tokenizer_->encode_document(written, text->max_length);
    if (cls_ >= 0) sequence.tokens.insert(sequence.tokens.begin(), cls_);
    sequence.length = static_cast<int64_t>(sequence.tokens.size());
    return sequence;
  }
  if (const auto* image = std::get_if<ImageInput>(&signature_.input.input))
    return encode_picture(record, *image, augmenter);
  require(static_cast<int64_t>(record.values.size()) % channels() == 0, record.where, ": ",
          record.values.size(), " numbers do not divide into positions of ", channels(), " channels");
  sequence.length = length(record);
  const int64_t positions = static_cast<int64_t>(record.values.size()) / channels();
  const float* begin = record.values.data() + augmenter.crop_begin(positions, sequence.length) * channels();
  std::vector<float> values(begin, begin + sequence.length * channels());
  // Silence is 0 in a sound; a series at rest is at its mean.
  const bool rests_at_mean =
      std::holds_alternative<SeriesInput>(signature_.input.input) && !signature_.mean.empty();
  augmenter.change(values, channels(),
                   [&](size_t i) { return rests_at_mean ? signature_.mean[statistic(i)] : 0.0F; });
  sequence.values = standardize(std::move(values));
  return sequence;
}

Sequence Encoder::encode_picture(const Record& record, const ImageInput& image,
                                 const Augmenter& augmenter) const {
  Picture converted;
  const Picture* picture = &record.picture;
  if (picture->empty()) {
    const int64_t pixels = image.height * image.width, bytes = std::ssize(record.bytes);
    require(bytes == pixels || bytes == pixels * image.channels, record.where, ": ", bytes,
            " pixels where the input is ", image.height, " by ", image.width);
    converted = Picture(image.height, image.width, bytes / pixels);
    converted.samples.assign(record.bytes.begin(), record.bytes.end());
    picture = &converted;
  }
  if (picture->channels != image.channels) {
    converted = with_channels(*picture, image.channels);
    picture = &converted;
  }
  const ImageAugmentOptions& augment = augmenter.options().image;
  const PictureChanges changes =
      draw_changes(augment, image, picture->height, picture->width, augmenter.seed());
  const Picture seen = changed(*picture, changes, fill_of(image));

  std::vector<std::array<float, 256>> values(static_cast<size_t>(image.channels));  // of each sample
  for (int64_t channel = 0; channel < image.channels; ++channel)
    for (size_t sample = 0; sample < 256; ++sample)
      values[static_cast<size_t>(channel)][sample] = static_cast<float>(
          (static_cast<double>(sample) / 255.0 - image.mean_of(channel)) / image.deviation_of(channel));
  Sequence sequence;
  sequence.length = image.height * image.width;
  sequence.values.resize(seen.samples.size());
  for (size_t i = 0; i < seen.samples.size(); i += values.size())
    for (size_t channel = 0; channel < values.size(); ++channel)
      sequence.values[i + channel] = values[channel][seen.samples[i + channel]];
  if (changes.erased)
    erase(sequence.values, image.width, image.channels, *changes.erased,
          draw_noise(*changes.erased, image.channels, changes.noise), augment.erase_limit);
  return sequence;
}

size_t Encoder::statistic(size_t i) const {
  const size_t size = signature_.mean.size(), period = static_cast<size_t>(channels());
  return i < size ? i : size - period + i % period;
}

std::vector<float> Encoder::standardize(std::vector<float> values) const {
  if (signature_.mean.empty()) return values;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t s = statistic(i);
    values[i] = (values[i] - signature_.mean[s]) / signature_.deviation[s];
  }
  return values;
}

int64_t Encoder::length(const Record& record, int document) const {
  if (const auto* text = std::get_if<TextInput>(&signature_.input.input))
    return tokenizer_->document_length(document == 0 ? record.bytes : record.second, text->max_length) +
           (cls_ >= 0 ? 1 : 0);
  if (const auto fixed = fixed_length()) return *fixed;
  return cut(static_cast<int64_t>(record.values.size()) / channels(), max_length(signature_.input));
}

std::optional<int64_t> Encoder::fixed_length() const {
  if (const auto* image = std::get_if<ImageInput>(&signature_.input.input))
    return image->height * image->width;
  return std::nullopt;
}

void fit_statistics(Signature& signature, const Part& part) {
  signature.mean.clear();
  signature.deviation.clear();
  const Standardize kind = standardization(signature.input);
  if (kind == Standardize::none || part.empty()) return;

  const int64_t channels = channels_of(signature.input), most = max_length(signature.input);
  // Calls f with each number that is read and the statistic it belongs to.
  const auto for_each = [&](const auto& f) {
    for_each_record(part, [&](const Record& record) {
      const int64_t positions = cut(static_cast<int64_t>(record.values.size()) / channels, most);
      for (size_t i = 0, end = static_cast<size_t>(positions * channels); i < end; ++i)
        f(kind == Standardize::position ? i : i % static_cast<size_t>(channels),
          static_cast<double>(record.values[i]));
    });
  };

  std::vector<double> counts(static_cast<size_t>(channels)), means(counts.size());
  for_each([&](size_t s, double x) {
    if (s >= counts.size()) {
      counts.resize(s + 1);
      means.resize(s + 1);
    }
    counts[s] += 1.0;
    means[s] += x;
  });
  const size_t size = counts.size();
  std::vector<double> squares(size);
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
