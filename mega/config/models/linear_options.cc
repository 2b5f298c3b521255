#include "mega/config/models/linear_options.h"

#include <algorithm>

#include "mega/base/error.h"

namespace mega {

void LinearOptions::check() const {
  require(input == InputKind::tokens, "input: a linear model reads tokens, not ", to_string(input));
}

std::vector<TensorInfo> LinearOptions::tensors() const {
  TensorList list;
  list.add("weight", {buckets, classes}, ModelPart::head);
  list.add("bias", {classes}, ModelPart::head);
  return list.take();
}

double LinearOptions::multiply_adds(int64_t) const { return static_cast<double>(ngrams * classes); }

// Token numbers, and a hash for each n-gram twice.
double LinearOptions::activation_bytes(int64_t length, int64_t batch) const {
  return 8.0 * static_cast<double>(documents * length * batch * (1 + 2 * ngrams));
}

bool LinearOptions::match(const ModelKind& other) {
  const auto* sequence = dynamic_cast<const SequenceOptions*>(&other);
  if (sequence == nullptr || sequence->input != InputKind::tokens) return false;
  static_cast<SequenceOptions&>(*this) = *sequence;
  documents = sequence->document_count();
  // Bytes and characters say little by twos.
  constexpr int64_t kFewTypes = 1000, kMostWeights = 1 << 22, kFewestBuckets = 1 << 14;
  ngrams = vocabulary < kFewTypes ? 5 : 2;
  buckets = std::max(kFewestBuckets,
                     std::min(LinearOptions().buckets, kMostWeights / std::max<int64_t>(1, classes)));
  return true;
}

}  // namespace mega
