#include "mega/train/tasks/batch_task.h"

#include <algorithm>
#include <span>

#include "mega/base/strings.h"

namespace mega::train {

void BatchTask::seek(data::Cursor cursor) {
  stream_.reset();  // its thread ends before another begins
  stream_ = std::make_unique<data::BatchStream>(make_source(), cursor);
}

int64_t BatchTask::draw(int64_t batches) {
  drawn_.clear();
  int64_t total = 0;
  for (int64_t i = 0; i < batches; ++i) {
    const bool begins_epoch = stream_->cursor().batch == 0;
    drawn_.push_back({stream_->next(), begins_epoch});
    total += count(drawn_.back().batch);
  }
  return total;
}

std::string BatchTask::examples(int64_t number) const {
  constexpr size_t kNamed = 8;
  const std::span<const std::string> names(drawn(number).batch.names);
  return join(names.first(std::min(names.size(), kNamed)), ", ") + (names.size() > kNamed ? ", ..." : "");
}

}  // namespace mega::train
