// TCP connections that never wait longer than they are told to.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mega::distributed {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// An open socket, closed with the object. It does not block.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  void close();
  // Whoever waits for it, here or at the other end, is told that it has ended. From any thread.
  void shut_down() const;

 private:
  int descriptor_ = -1;
};

struct Address {
  std::string host;  // digits
  uint16_t port = 0;
};

// Listens on the first address of `host`, and on no other; port 0: any free one.
Socket listen_on(const std::string& host, uint16_t port);
// The next connection, or nullopt at the deadline.
std::optional<Socket> accept_from(const Socket& listener, Deadline deadline);
// Tries again until the deadline: whoever is to listen may not do so yet.
Socket connect_to(const std::string& host, uint16_t port, Deadline deadline);

Address own_address(const Socket& socket);
Address other_address(const Socket& socket);

// An Error at the deadline, or if the connection ends.
void send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline);
void receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline);

// A message with its length.
void send_message(const Socket& socket, std::string_view message, Deadline deadline);
std::string receive_message(const Socket& socket, Deadline deadline, size_t longest = size_t{64} << 20);

// Milliseconds until then, for poll().
int milliseconds_until(Deadline deadline);

}  // namespace mega::distributed
