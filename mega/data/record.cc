#include "mega/data/record.h"

#include "mega/base/error.h"

namespace mega::data {

void Problems::add(const std::string& where, const std::string& what) {
  if (!skip_) fail(where, ": ", what, " (data.skip_broken=true leaves such examples out)");
  ++count_;
  if (first_.size() < kKept) first_.push_back({where, what});
}

}  // namespace mega::data
