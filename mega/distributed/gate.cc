#include "mega/distributed/gate.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "mega/base/error.h"
#include "mega/distributed/sha256.h"

namespace mega::distributed {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);  // with a connection that has proved nothing
constexpr int kExamined = 128;  // connections at a time; others wait in the system's queue
constexpr size_t kLongestGreeting = size_t{64} << 10;

using Bytes = std::array<char, 32>;

// What the end that connects says first: a program that is not ours is recognised at once.
constexpr std::array<char, 16> kGreeting = {'m', 'e', 'g', 'a', ' ', 'r', 'u', 'n',
                                            ',', ' ', 'f', 'o', 'r', 'm', ' ', '1'};

Bytes random_bytes() {
  Bytes bytes;
  require(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "no random numbers from the system: ", std::strerror(errno));
  return bytes;
}

Digest proof(const std::string& token, const char* role, const Bytes& connected, const Bytes& listened) {
  std::string text = role;
  text.append(connected.data(), connected.size()).append(listened.data(), listened.size());
  return hmac_sha256(token, text);
}

template <class Array>
void send_array(const Socket& socket, const Array& array, Deadline deadline) {
  send_all(socket, std::as_bytes(std::span(array)), deadline);
}

template <class Array>
Array receive_array(const Socket& socket, Deadline deadline) {
  Array array;
  receive_all(socket, std::as_writable_bytes(std::span(array)), deadline);
  return array;
}

constexpr const char* kConnected = "connected";
constexpr const char* kListened = "listened";

}  // namespace

void introduce(const Socket& socket, const std::string& token, Deadline deadline) {
  const Bytes own = random_bytes();
  send_array(socket, kGreeting, deadline);
  send_array(socket, own, deadline);
  const auto other = receive_array<Bytes>(socket, deadline);
  require(equal(receive_array<Digest>(socket, deadline), proof(token, kListened, own, other)),
          "who listens there does not know the token of this run: MEGA_TOKEN must be the same for all");
  send_array(socket, proof(token, kConnected, own, other), deadline);
}

void admit(const Socket& socket, const std::string& token, Deadline deadline) {
  require(receive_array<std::array<char, kGreeting.size()>>(socket, deadline) == kGreeting,
          "the connection is not of a process of this program");
  const auto other = receive_array<Bytes>(socket, deadline);
  const Bytes own = random_bytes();
  send_array(socket, own, deadline);
  send_array(socket, proof(token, kListened, other, own), deadline);
  require(equal(receive_array<Digest>(socket, deadline), proof(token, kConnected, other, own)),
          "the connection does not know the token of this run");
}

Gate::Gate(Socket listener, std::string token) : listener_(std::move(listener)), token_(std::move(token)) {
  thread_ = std::thread([this] { listen(); });
}

Gate::~Gate() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  listener_.shut_down();
  thread_.join();
  std::unique_lock lock(mutex_);
  for (const Socket* socket : examined_) socket->shut_down();
  changed_.wait(lock, [this] { return examined_.empty(); });
}

void Gate::listen() {
  constexpr auto kOften = std::chrono::milliseconds(200);
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || std::ssize(examined_) < kExamined; });
      if (stop_) return;
    }
    auto socket = accept_from(listener_, Clock::now() + kOften);
    if (!socket) continue;
    auto own = std::make_unique<Socket>(std::move(*socket));
    {
      const std::lock_guard lock(mutex_);
      examined_.insert(own.get());
    }
    std::thread([this, one = std::move(own)] { examine(*one); }).detach();
  }
}

void Gate::examine(Socket& socket) {
  std::optional<std::string> message;
  try {
    const Deadline deadline = Clock::now() + kPatience;
    admit(socket, token_, deadline);
    message = receive_message(socket, deadline, kLongestGreeting);
  } catch (const std::exception&) {
    // A stranger learns nothing, and nobody is told of him: anyone could fill the log.
  }
  const std::lock_guard lock(mutex_);
  examined_.erase(&socket);
  if (message) guests_.push_back({std::move(socket), std::move(*message)});
  socket.close();
  changed_.notify_all();
}

std::optional<Gate::Guest> Gate::next(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [this] { return !guests_.empty(); })) return std::nullopt;
  Guest guest = std::move(guests_.front());
  guests_.pop_front();
  return guest;
}

}  // namespace mega::distributed
