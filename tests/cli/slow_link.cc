// A link between two network namespaces, with a rate and a delay, as `tc netem` makes where the kernel has
// it: a TUN device called `slow` in each, and this program in between, which holds packets back. Runs until
// it is killed. usage: slow_link NAMESPACE NAMESPACE MBIT_PER_SECOND DELAY_MICROSECONDS
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

int open_device(const std::string& space) {
  const int folder = ::open(("/run/netns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
  if (folder < 0 || ::setns(folder, CLONE_NEWNET) != 0) fail(space);
  ::close(folder);
  const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) fail("/dev/net/tun");
  ifreq request{};
  std::strcpy(request.ifr_name, "slow");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(device, TUNSETIFF, &request) != 0) fail("TUNSETIFF");
  return device;
}

// Packets on their way in one direction: each leaves when those before it are out, and arrives a delay later.
class Direction {
 public:
  Direction(int from, int to, double bytes_per_second, Clock::duration delay)
      : from_(from), to_(to), bytes_per_second_(bytes_per_second), delay_(delay) {}

  void take() {
    char packet[kLargest];
    for (ssize_t size; under_way_.size() < kMost && (size = ::read(from_, packet, sizeof(packet))) > 0;) {
      const std::chrono::duration<double> sending(static_cast<double>(size) / bytes_per_second_);
      free_ = std::max(free_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(sending);
      under_way_.push_back({free_ + delay_, {packet, packet + size}});
    }
  }
  void deliver() {
    for (; !under_way_.empty() && under_way_.front().arrives <= Clock::now(); under_way_.pop_front()) {
      const std::vector<char>& bytes = under_way_.front().bytes;
      // A device that is down or full loses the packet, as networks do.
      [[maybe_unused]] const ssize_t written = ::write(to_, bytes.data(), bytes.size());
    }
  }
  // What to wait for: packets, unless as many are under way as a router would hold.
  pollfd waits() const { return {from_, static_cast<short>(under_way_.size() < kMost ? POLLIN : 0), 0}; }
  Clock::time_point next() const {
    return under_way_.empty() ? Clock::time_point::max() : under_way_.front().arrives;
  }

 private:
  static constexpr size_t kLargest = 65536, kMost = 1000;
  struct Packet {
    Clock::time_point arrives;
    std::vector<char> bytes;
  };

  int from_, to_;
  double bytes_per_second_;
  Clock::duration delay_;
  Clock::time_point free_{};
  std::deque<Packet> under_way_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: slow_link NAMESPACE NAMESPACE MBIT_PER_SECOND DELAY_MICROSECONDS\n", stderr);
    return 2;
  }
  const int a = open_device(argv[1]), b = open_device(argv[2]);
  const double rate = std::atof(argv[3]) * 1e6 / 8;
  const auto delay = std::chrono::microseconds(std::atol(argv[4]));
  Direction there(a, b, rate, delay), back(b, a, rate, delay);
  while (true) {
    pollfd devices[] = {there.waits(), back.waits()};
    const Clock::time_point next = std::min(there.next(), back.next());
    timespec rest{};
    if (next != Clock::time_point::max())
      rest.tv_nsec = std::max<int64_t>(0, std::chrono::nanoseconds(next - Clock::now()).count()) % 1000000000;
    ::ppoll(devices, 2, next == Clock::time_point::max() ? nullptr : &rest, nullptr);
    there.take();
    back.take();
    there.deliver();
    back.deliver();
  }
}
