// Connections between processes that know the token of a run; strangers are turned away.
//
// Both ends prove that they know the token, over random numbers of both, so that a proof is worth nothing
// another time. What follows is not encrypted: the network between the machines of a run is trusted not to
// change it.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "mega/distributed/socket.h"

namespace mega::distributed {

// The proofs of the end that connected, and of the end that listened; an Error if the other end does not know
// the token.
void introduce(const Socket& socket, const std::string& token, Deadline deadline);
void admit(const Socket& socket, const std::string& token, Deadline deadline);

// Listens while it exists. Each connection is examined by a thread of its own, so that one that says nothing
// keeps nobody waiting.
class Gate {
 public:
  // A connection that proved the token, and its first message.
  struct Guest {
    Socket socket;
    std::string message;
  };

  Gate(Socket listener, std::string token);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  Address address() const { return own_address(listener_); }

  // The next one; nullopt at the deadline.
  std::optional<Guest> next(Deadline deadline);

 private:
  void listen();
  void examine(Socket& socket);

  Socket listener_;
  std::string token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Guest> guests_;
  std::set<const Socket*> examined_;  // connections that are being examined now
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace mega::distributed
