#include "mega/data/part.h"

#include <limits>
#include <numeric>

#include "mega/data/in_order.h"

namespace mega::data {

Part::Part(std::vector<Record> records) {
  auto all = std::make_shared<Examples>(std::numeric_limits<int64_t>::max());
  for (Record& record : records) all->add(std::move(record));
  numbers.resize(records.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  examples = std::move(all);
}

void for_each_record(const Part& part, const std::function<void(const Record&)>& use) {
  if (part.empty()) return;
  if (part.examples->in_memory()) {
    for (int64_t i = 0; i < part.size(); ++i) use(part.get(i));
    return;
  }
  in_order(
      part.size(), [&](int64_t i) { return part.get(i); },
      [](const Record& record) {
        return record.bytes.size() + record.second.size() + record.picture.samples.size() +
               record.values.size() * sizeof(float);
      },
      [&](int64_t, const Record& record) { use(record); });
}

}  // namespace mega::data
