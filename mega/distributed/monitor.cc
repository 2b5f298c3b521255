#include "mega/distributed/monitor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "mega/base/strings.h"

namespace mega::distributed {
namespace {

// A message: its kind, the length of its text, the text.
constexpr char kAlive = 'h', kLost = 'a', kGoodbye = 'g';
constexpr size_t kHead = 1 + sizeof(uint32_t);
constexpr uint32_t kLongestText = 1 << 16;
constexpr auto kReasonWithin = std::chrono::seconds(3);

}  // namespace

Monitor::Monitor(Members members, std::vector<Socket> links, std::chrono::milliseconds silence,
                 std::function<void()> on_loss)
    : members_(std::move(members)), silence_(silence), on_loss_(std::move(on_loss)) {
  int rank = members_.rank == 0 ? 1 : 0;
  for (Socket& socket : links) links_.push_back({rank++, std::move(socket), Clock::now(), "", false});
  require(pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0, "cannot create a pipe: ", std::strerror(errno));
  thread_ = std::thread([this] { watch(); });
}

Monitor::~Monitor() {
  stop_ = true;
  [[maybe_unused]] const auto written = write(wake_[1], "", 1);
  thread_.join();
  close(wake_[0]);
  close(wake_[1]);
}

std::string Monitor::loss() const {
  const std::lock_guard lock(mutex_);
  return loss_;
}

void Monitor::throw_loss(const std::string& otherwise) {
  for (const Deadline end = Clock::now() + kReasonWithin; Clock::now() < end && loss().empty();)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::string why = loss();
  throw RunLost(why.empty() ? otherwise : why);
}

// Never waits: a process that does not read must not stop the others.
void Monitor::tell(const Link& link, char kind, const std::string& text) {
  std::string message(1, kind);
  const auto size = static_cast<uint32_t>(std::min<size_t>(text.size(), kLongestText));
  message.append(reinterpret_cast<const char*>(&size), sizeof size).append(text, 0, size);
  [[maybe_unused]] const auto sent =
      send(link.socket.descriptor(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Monitor::lose(const std::string& why, int except) {
  {
    const std::lock_guard lock(mutex_);
    if (!loss_.empty()) return;  // the first reason counts: others follow from it
    loss_ = why;
    for (const Link& link : links_)
      if (!link.left && link.rank != except) tell(link, kLost, why);
  }
  on_loss_();
}

void Monitor::report_failure(const std::string& why) { lose(members_.name(members_.rank) + ": " + why); }

void Monitor::say_goodbye() {
  const std::lock_guard lock(mutex_);
  for (const Link& link : links_) tell(link, kGoodbye, "");
}

void Monitor::understand(Link& link) {
  while (link.received.size() >= kHead) {
    uint32_t size = 0;
    std::memcpy(&size, link.received.data() + 1, sizeof size);
    if (size > kLongestText)
      return lose(members_.name(link.rank) + " sent what is no message of this program");
    if (link.received.size() < kHead + size) return;
    const char kind = link.received.front();
    const std::string text = link.received.substr(kHead, size);
    link.received.erase(0, kHead + size);
    if (kind == kGoodbye) leave(link);
    if (kind == kLost) lose(text, link.rank);
  }
}

void Monitor::leave(Link& link) {
  const std::lock_guard lock(mutex_);
  link.left = true;
}

void Monitor::hear(Link& link) {
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t got = recv(link.socket.descriptor(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      link.heard = Clock::now();
      link.received.append(buffer.data(), static_cast<size_t>(got));
      understand(link);
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (!link.left) lose(members_.name(link.rank) + " ended, or lost its connection, without a word");
    leave(link);
    return;
  }
}

void Monitor::watch() {
  const auto period = std::min<std::chrono::milliseconds>(silence_ / 4, std::chrono::seconds(2));
  Clock::time_point told = Clock::now() - period, looked = Clock::now();
  while (!stop_) {
    std::vector<pollfd> waited = {{wake_[0], POLLIN, 0}};
    std::vector<Link*> links;
    for (Link& link : links_) {
      if (link.left) continue;
      waited.push_back({link.socket.descriptor(), POLLIN, 0});
      links.push_back(&link);
    }
    poll(waited.data(), waited.size(), milliseconds_until(told + period));
    for (size_t i = 0; i < links.size(); ++i)
      if (waited[i + 1].revents != 0) hear(*links[i]);
    const auto now = Clock::now();
    // This process itself was stopped for a while: what the others sent meanwhile is heard first.
    const bool slept = now - looked > silence_ / 2;
    looked = now;
    if (!loss().empty()) continue;
    for (Link& link : links_)
      if (slept)
        link.heard = now;
      else if (!link.left && now - link.heard > silence_)
        lose(members_.name(link.rank) + " has given no sign of life for " +
             human_seconds(std::chrono::duration<double>(silence_).count()) +
             ": it is stopped, or cannot be reached");
    if (now - told < period) continue;
    told = now;
    const std::lock_guard lock(mutex_);
    for (const Link& link : links_)
      if (!link.left) tell(link, kAlive, "");
  }
}

}  // namespace mega::distributed
