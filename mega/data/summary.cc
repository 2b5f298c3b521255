#include "mega/data/summary.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "mega/data/batches.h"
#include "mega/text/tokens.h"

namespace mega::data {
namespace {

// The same input without a limit on its length.
Signature unlimited(Signature signature) {
  if (auto* text = std::get_if<TextInput>(&signature.input.input)) text->max_length = 0;
  if (auto* series = std::get_if<SeriesInput>(&signature.input.input)) series->max_length = 0;
  return signature;
}

bool limits_length(const Signature& signature) {
  const auto* text = std::get_if<TextInput>(&signature.input.input);
  const auto* series = std::get_if<SeriesInput>(&signature.input.input);
  return (text != nullptr && text->max_length > 0) || (series != nullptr && series->max_length > 0);
}

}  // namespace

int64_t count_cut(const Part& part, const Encoder& encoder, int documents) {
  if (part.empty() || !limits_length(encoder.signature())) return 0;
  const std::vector<int64_t> lengths = lengths_of(part, encoder, documents);
  // Only what is as long as the longest may have been cut.
  Part longest;
  longest.examples = part.examples;
  const int64_t most = *std::max_element(lengths.begin(), lengths.end());
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] == most) longest.numbers.push_back(part.numbers[i]);
  const Encoder uncut(unlimited(encoder.signature()), encoder.cls());
  const std::vector<int64_t> whole = count_lengths(longest, uncut, documents);
  return std::count_if(whole.begin(), whole.end(), [&](int64_t length) { return length > most; });
}

LengthSummary summarize_lengths(std::vector<int64_t> lengths) {
  if (lengths.empty()) return {};
  std::sort(lengths.begin(), lengths.end());
  const auto quantile = [&](double share) {
    return lengths[static_cast<size_t>(share * static_cast<double>(lengths.size() - 1))];
  };
  return {lengths.front(), quantile(0.5), quantile(0.95), lengths.back()};
}

PartSummary summarize(const Part& part, const Encoder& encoder, int documents, int64_t classes) {
  PartSummary summary;
  summary.examples = part.size();
  summary.per_class.resize(static_cast<size_t>(classes));
  for (const int64_t label : part.labels) ++summary.per_class[static_cast<size_t>(label)];
  if (part.empty()) return summary;

  std::vector<int64_t> lengths = lengths_of(part, encoder, documents);
  summary.cut = count_cut(part, encoder, documents);
  static_cast<LengthSummary&>(summary) = summarize_lengths(std::move(lengths));
  return summary;
}

int64_t count_shared(const Part& one, const Part& other) {
  std::unordered_set<uint64_t> seen;
  for (int64_t i = 0; i < one.size(); ++i) seen.insert(one.content_hash(i));
  int64_t shared = 0;
  for (int64_t i = 0; i < other.size(); ++i) shared += seen.contains(other.content_hash(i)) ? 1 : 0;
  return shared;
}

int64_t longest_line(const TokenView& text) {
  int64_t longest = 0;
  for (int64_t begin = text.begin; begin < text.end;) {
    const int64_t end = std::min(text.file->find(kEnd, begin, text.end) + 1, text.end);
    longest = std::max(longest, end - begin);
    begin = end;
  }
  return longest;
}

}  // namespace mega::data
