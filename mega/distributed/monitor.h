// Who is still there: signs of life between rank 0 and all others, and what went wrong where.
//
// Other communication may wait as long as work takes. A process that dies, stops or cannot be reached is
// found here, by the end of its connection or by its silence, and every process learns which it was.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mega/distributed/members.h"

namespace mega::distributed {

class Monitor {
 public:
  // `links`: of rank 0 a connection with each other rank, in their order; of the others one with rank 0.
  // `on_loss` is called once, by the monitor's thread, when the run is lost.
  Monitor(Members members, std::vector<Socket> links, std::chrono::milliseconds silence,
          std::function<void()> on_loss);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Throws the reason why the run is lost. A broken connection is noticed by whoever uses it first: waits a
  // moment for the reason to arrive; `otherwise` is what is thrown if none does.
  [[noreturn]] void throw_loss(const std::string& otherwise);

  // Tells all others that this process fails.
  void report_failure(const std::string& why);

  // This process ends in good order; its connections may be closed.
  void say_goodbye();

 private:
  struct Link {
    int rank = 0;
    Socket socket;
    Clock::time_point heard;
    std::string received;  // of a message that has not arrived in full
    bool left = false;     // in good order
  };

  void watch();
  void hear(Link& link);
  void understand(Link& link);
  void leave(Link& link);
  void lose(const std::string& why, int except = -1);
  void tell(const Link& link, char kind, const std::string& text);
  std::string loss() const;

  Members members_;
  std::vector<Link> links_;
  std::chrono::milliseconds silence_;
  std::function<void()> on_loss_;
  mutable std::mutex mutex_;
  std::string loss_;
  std::atomic<bool> stop_ = false;
  int wake_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace mega::distributed
