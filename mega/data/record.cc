#include "mega/data/record.h"

#include <string_view>

#include "mega/base/error.h"
#include "mega/base/random.h"

namespace mega::data {

uint64_t content_hash(const Record& record) {
  const auto* values = reinterpret_cast<const char*>(record.values.data());
  const uint64_t texts = stream_seed(stream_seed(0, record.bytes), record.second);
  return stream_seed(texts, std::string_view(values, record.values.size() * sizeof(float)));
}

void Problems::add(const std::string& where, const std::string& what) {
  if (!skip_) fail(where, ": ", what, " (data.skip_broken=true leaves such examples out)");
  ++count_;
  if (first_.size() < kKept) first_.push_back({where, what});
}

}  // namespace mega::data
