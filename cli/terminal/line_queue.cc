#include "cli/terminal/line_queue.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "cli/terminal/interrupt.h"

namespace mega::cli {
namespace {

constexpr size_t kMostBytes = size_t{1} << 22;
constexpr size_t kMostLines = size_t{1} << 14;
constexpr auto kMoment = std::chrono::milliseconds(50);

bool is_file(const std::string& path) {
  struct stat status {};
  const int failed = path == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status);
  return failed == 0 && S_ISREG(status.st_mode);
}

}  // namespace

// Belongs to both threads: the reader may outlive the queue.
struct LineQueue::Shared {
  Shared(const std::string& file, size_t longest_line)
      : path(file), longest(longest_line), from_file(is_file(file)) {}

  const std::string path;
  const size_t longest;
  const bool from_file;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  size_t bytes = 0;
  bool ended = false, abandoned = false;
  std::exception_ptr trouble;

  bool is_full() const { return bytes >= kMostBytes || lines.size() >= kMostLines; }
  bool has_answer() const { return !lines.empty() || ended; }
};

LineQueue::LineQueue(const std::string& path, size_t longest)
    : shared_(std::make_shared<Shared>(path, longest)), thread_([shared = shared_] { read_all(*shared); }) {}

LineQueue::~LineQueue() {
  std::unique_lock lock(shared_->mutex);
  shared_->abandoned = true;
  const bool ended = shared_->ended;
  lock.unlock();
  shared_->changed.notify_all();
  if (ended)
    thread_.join();
  else
    thread_.detach();
}

void LineQueue::read_all(Shared& shared) {
  std::exception_ptr trouble;
  try {
    LineReader reader(shared.path, shared.longest);  // waits for the first bytes, too
    for (std::string line; reader.next(line);) {
      std::unique_lock lock(shared.mutex);
      shared.changed.wait(lock, [&] { return shared.abandoned || !shared.is_full(); });
      if (shared.abandoned) break;
      shared.bytes += line.size();
      shared.lines.push_back(std::move(line));
      line.clear();
      lock.unlock();
      shared.changed.notify_all();
    }
  } catch (...) {
    trouble = std::current_exception();
  }
  const std::lock_guard lock(shared.mutex);
  shared.trouble = trouble;
  shared.ended = true;
  shared.changed.notify_all();
}

std::optional<std::string> LineQueue::next() {
  std::unique_lock lock(shared_->mutex);
  while (!shared_->changed.wait_for(lock, kMoment, [&] { return shared_->has_answer(); }))
    if (InterruptGuard::interrupted()) return std::nullopt;
  if (InterruptGuard::interrupted()) return std::nullopt;
  if (shared_->lines.empty()) {
    if (shared_->trouble) std::rethrow_exception(std::exchange(shared_->trouble, nullptr));
    return std::nullopt;
  }
  std::string line = std::move(shared_->lines.front());
  shared_->lines.pop_front();
  shared_->bytes -= line.size();
  lock.unlock();
  shared_->changed.notify_all();
  return line;
}

bool LineQueue::answers_soon() {
  if (shared_->from_file) return true;
  std::unique_lock lock(shared_->mutex);
  return shared_->changed.wait_for(lock, kMoment, [&] { return shared_->has_answer(); });
}

}  // namespace mega::cli
