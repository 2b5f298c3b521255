#include "mega/data/batch_stream.h"

#include <utility>

#include "mega/base/error.h"

namespace mega::data {

BatchStream::BatchStream(std::unique_ptr<BatchSource> source, Cursor start)
    : source_(std::move(source)), cursor_(start) {
  // Of the first epoch, wherever this one begins: a resumed run counts as the whole one did.
  batches_per_epoch_ = std::ssize(source_->plan(0));
  require(batches_per_epoch_ > 0, "there are no training examples");
  thread_ = std::thread([this, start] { make(start); });
}

BatchStream::~BatchStream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchStream::put(Made made) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || ready_.size() < kAhead; });
  ready_.push_back(std::move(made));
  changed_.notify_all();
}

void BatchStream::make(Cursor at) {
  try {
    for (;; at = {at.epoch + 1, 0}) {
      const auto plan = source_->plan(at.epoch);
      for (auto b = static_cast<size_t>(at.batch); b < plan.size(); ++b) {
        {
          const std::lock_guard lock(mutex_);
          if (stop_) return;
        }
        const Cursor after =
            b + 1 < plan.size() ? Cursor{at.epoch, static_cast<int64_t>(b) + 1} : Cursor{at.epoch + 1, 0};
        put({source_->make(plan[b]), after, nullptr});
      }
    }
  } catch (...) {
    put({{}, {}, std::current_exception()});
  }
}

Batch BatchStream::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty(); });
  // An error stays: nothing comes after it, and who asks again must not wait.
  if (ready_.front().error) std::rethrow_exception(ready_.front().error);
  Made made = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  cursor_ = made.after;
  return std::move(made.batch);
}

}  // namespace mega::data
