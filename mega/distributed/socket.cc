#include "mega/distributed/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "mega/base/error.h"

namespace mega::distributed {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const std::string& host, uint16_t port) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  require(error == 0, host, ": no address of this name: ", gai_strerror(error));
  return {found, freeaddrinfo};
}

std::string text_of(const std::string& host, uint16_t port) { return host + ":" + std::to_string(port); }

Socket open_socket(const addrinfo& address) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  require(static_cast<bool>(socket), "cannot open a socket: ", std::strerror(errno));
  return socket;
}

// Small messages leave at once.
void hurry(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Waits until something can be read or written; false at the deadline.
bool wait_for(const Socket& socket, short events, Deadline deadline) {
  pollfd one = {socket.descriptor(), events, 0};
  while (true) {
    const int ready = poll(&one, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    require(errno == EINTR, "poll: ", std::strerror(errno));
  }
}

// Connects once; 0 or an error number.
int try_to_connect(const Socket& socket, const addrinfo& address, Deadline deadline) {
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(socket, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

template <class Get>
Address address_by(const Get& get, const Socket& socket) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  std::array<char, NI_MAXHOST> host = {};
  std::array<char, NI_MAXSERV> port = {};
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (get(socket.descriptor(), address, &size) != 0 ||
      getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {"unknown address", 0};
  return {host.data(), static_cast<uint16_t>(std::stoi(port.data()))};
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void Socket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void Socket::shut_down() const {
  if (descriptor_ >= 0) shutdown(descriptor_, SHUT_RDWR);
}

int milliseconds_until(Deadline deadline) {
  constexpr int64_t kLongest = 1'000'000'000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, kLongest));
}

Socket listen_on(const std::string& host, uint16_t port) {
  const AddressList list = resolve(host, port);
  Socket socket = open_socket(*list);
  const int on = 1;  // a run that follows another at once finds the port free
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.descriptor(), list->ai_addr, list->ai_addrlen) != 0 ||
      listen(socket.descriptor(), SOMAXCONN) != 0)
    fail("cannot listen on ", text_of(host, port), ": ", std::strerror(errno),
         errno == EADDRINUSE ? "; choose another port (MASTER_PORT)"
                             : "; MASTER_ADDR must be an address of rank 0's machine");
  return socket;
}

std::optional<Socket> accept_from(const Socket& listener, Deadline deadline) {
  while (wait_for(listener, POLLIN, deadline)) {
    Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      hurry(socket);
      return socket;
    }
    // The other end gave up meanwhile, or descriptors are short: wait for the next.
    if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (errno == EBADF || errno == EINVAL) break;
  }
  return std::nullopt;
}

Socket connect_to(const std::string& host, uint16_t port, Deadline deadline) {
  constexpr auto kBetween = std::chrono::milliseconds(100);
  std::string why;
  do {
    try {
      const AddressList list = resolve(host, port);
      Socket socket = open_socket(*list);
      const int error = try_to_connect(socket, *list, deadline);
      if (error == 0) {
        hurry(socket);
        return socket;
      }
      why = std::strerror(error);
    } catch (const Error& error) {
      why = error.what();
    }
    std::this_thread::sleep_for(kBetween);
  } while (Clock::now() < deadline);
  fail("cannot reach ", text_of(host, port), ": ", why);
}

Address own_address(const Socket& socket) { return address_by(getsockname, socket); }

Address other_address(const Socket& socket) { return address_by(getpeername, socket); }

void send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      require(wait_for(socket, POLLOUT, deadline), "the connection does not take what is sent");
    } else {
      require(errno == EINTR, "the connection has ended: ", std::strerror(errno));
    }
  }
}

void receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t got = recv(socket.descriptor(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<size_t>(got));
    } else if (got == 0) {
      fail("the connection was closed");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      require(wait_for(socket, POLLIN, deadline), "no answer");
    } else {
      require(errno == EINTR, "the connection has ended: ", std::strerror(errno));
    }
  }
}

void send_message(const Socket& socket, std::string_view message, Deadline deadline) {
  const auto size = static_cast<uint64_t>(message.size());
  send_all(socket, std::as_bytes(std::span(&size, 1)), deadline);
  send_all(socket, std::as_bytes(std::span(message)), deadline);
}

std::string receive_message(const Socket& socket, Deadline deadline, size_t longest) {
  uint64_t size = 0;
  receive_all(socket, std::as_writable_bytes(std::span(&size, 1)), deadline);
  require(size <= longest, "a message of ", size, " bytes, and at most ", longest, " are expected");
  std::string message(static_cast<size_t>(size), '\0');
  receive_all(socket, std::as_writable_bytes(std::span(message)), deadline);
  return message;
}

}  // namespace mega::distributed
