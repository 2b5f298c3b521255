#include "mega/data/record.h"

#include <array>
#include <span>

#include "mega/base/error.h"
#include "mega/base/hash.h"

namespace mega::data {

const char* split_name(Split split) {
  switch (split) {
    case Split::train:
      return "train";
    case Split::valid:
      return "valid";
    case Split::test:
      return "test";
    case Split::unknown:
      break;
  }
  return "unknown";
}

uint64_t content_hash(const Record& record) {
  uint64_t hash = hash_text(record.second, hash_text(record.bytes));
  hash = hash_bytes(std::as_bytes(std::span(record.values)), hash);
  const Picture& picture = record.picture;
  if (picture.empty()) return hash;
  const std::array<int64_t, 3> shape = {picture.height, picture.width, picture.channels};
  return hash_bytes(std::as_bytes(std::span(picture.samples)),
                    hash_bytes(std::as_bytes(std::span(shape)), hash));
}

size_t content_bytes(const Record& record) {
  return record.bytes.size() + record.second.size() + record.picture.samples.size() +
         record.values.size() * sizeof(float);
}

void Problems::add(const std::string& where, const std::string& what) {
  if (!skip_) fail(where, ": ", what, " (data.skip_broken=true leaves such examples out)");
  ++count_;
  if (tell_) tell_({where, what});
  if (first_.size() < kKept) first_.push_back({where, what});
}

}  // namespace mega::data
