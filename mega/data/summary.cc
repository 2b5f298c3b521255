#include "mega/data/summary.h"

#include <algorithm>
#include <unordered_set>

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

}  // namespace

PartSummary summarize(const Part& part, const Encoder& encoder, int documents, int64_t classes) {
  PartSummary summary;
  summary.examples = part.size();
  summary.per_class.resize(static_cast<size_t>(classes));
  for (const int64_t label : part.labels) ++summary.per_class[static_cast<size_t>(label)];
  if (part.records.empty()) return summary;

  std::vector<int64_t> lengths = lengths_of(part, encoder, documents);
  const Encoder uncut(unlimited(encoder.signature()), encoder.cls());
  const std::vector<int64_t> whole = lengths_of(part, uncut, documents);
  for (size_t i = 0; i < lengths.size(); ++i) summary.cut += whole[i] > lengths[i] ? 1 : 0;
  std::sort(lengths.begin(), lengths.end());
  const auto quantile = [&](double share) {
    return lengths[static_cast<size_t>(share * static_cast<double>(lengths.size() - 1))];
  };
  summary.shortest = lengths.front();
  summary.median = quantile(0.5);
  summary.p95 = quantile(0.95);
  summary.longest = lengths.back();
  return summary;
}

int64_t count_shared(const Part& one, const Part& other) {
  std::unordered_set<uint64_t> seen;
  for (const Record& record : one.records) seen.insert(content_hash(record));
  return std::count_if(other.records.begin(), other.records.end(),
                       [&](const Record& record) { return seen.contains(content_hash(record)); });
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
