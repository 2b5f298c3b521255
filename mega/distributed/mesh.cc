#include "mega/distributed/mesh.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include "mega/base/error.h"

namespace mega::distributed {
namespace {

constexpr size_t kSmall = size_t{64} << 10;  // bytes of a sum that goes by the tree

// Before every message.
struct Head {
  uint64_t bytes = 0;
};

// A message on its way in one direction.
template <class Byte>
struct Transfer {
  Head head;
  std::span<Byte> bytes;
  size_t done = 0;  // of head and bytes

  bool finished() const { return done == sizeof head + bytes.size(); }
  std::array<iovec, 2> rest() {
    const size_t in_head = std::min(done, sizeof head), in_bytes = done - in_head;
    auto* data = const_cast<std::byte*>(bytes.data());
    return {{{reinterpret_cast<char*>(&head) + in_head, sizeof head - in_head},
             {data + in_bytes, bytes.size() - in_bytes}}};
  }
};

template <class Number>
std::span<std::byte> bytes_of(std::span<Number> numbers) {
  return std::as_writable_bytes(numbers);
}

// Piece i of n.
template <class Number>
std::span<Number> piece(std::span<Number> all, int i, int n) {
  const Piece own = piece_of(std::ssize(all), i, n);
  return all.subspan(static_cast<size_t>(own.begin), static_cast<size_t>(own.size()));
}

}  // namespace

Mesh::Mesh(Members members, std::vector<Socket> sockets, Monitor& monitor)
    : members_(std::move(members)), peers_(std::move(sockets)), monitor_(monitor) {}

void Mesh::shut_down() const {
  for (const Socket& peer : peers_) peer.shut_down();
}

void Mesh::exchange(int to, std::span<const std::byte> sent, int from, std::span<std::byte> received) {
  const auto lost = [this](int rank, const std::string& what) {
    monitor_.throw_loss("the connection with " + members_.name(rank) + " " + what);
  };
  Transfer<const std::byte> out{{sent.size()}, sent};
  Transfer<std::byte> in{{}, received};
  if (to < 0) out.done = sizeof(Head) + sent.size();
  if (from < 0) in.done = sizeof(Head) + received.size();
  const auto start = Clock::now();
  while (!out.finished() || !in.finished()) {
    std::array<pollfd, 2> waited = {
        {{out.finished() ? -1 : peers_[static_cast<size_t>(to)].descriptor(), POLLOUT, 0},
         {in.finished() ? -1 : peers_[static_cast<size_t>(from)].descriptor(), POLLIN, 0}}};
    if (poll(waited.data(), waited.size(), -1) < 0) continue;  // a signal
    if (waited[0].revents != 0) {
      auto parts = out.rest();
      msghdr message = {};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      const ssize_t count = sendmsg(waited[0].fd, &message, MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR)
        lost(to, std::string("broke: ") + std::strerror(errno));
      out.done += static_cast<size_t>(std::max<ssize_t>(0, count));
    }
    if (waited[1].revents != 0) {
      auto parts = in.rest();
      const ssize_t count = readv(waited[1].fd, parts.data(), in.done < sizeof(Head) ? 1 : 2);
      if (count == 0) lost(from, "was closed");
      if (count < 0 && errno != EAGAIN && errno != EINTR)
        lost(from, std::string("broke: ") + std::strerror(errno));
      in.done += static_cast<size_t>(std::max<ssize_t>(0, count));
      if (in.done == sizeof(Head) && in.head.bytes != received.size())
        lost(from, "has lost step: " + std::to_string(in.head.bytes) + " bytes came where " +
                       std::to_string(received.size()) + " were expected");
    }
  }
  seconds_waited_ += std::chrono::duration<double>(Clock::now() - start).count();
  if (to >= 0) bytes_sent_ += static_cast<int64_t>(sizeof(Head) + sent.size());
}

// Up the tree: a process whose lowest set bit is k gives its sum to the one without that bit.
template <class Number>
void Mesh::tree_sum(std::span<Number> numbers) {
  std::vector<Number> other(numbers.size());
  for (int bit = 1; bit < size(); bit *= 2) {
    if ((rank() & bit) != 0) {
      send(rank() - bit, bytes_of(numbers));
      break;
    }
    if (rank() + bit >= size()) continue;
    receive(rank() + bit, bytes_of(std::span(other)));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] += other[i];
  }
  broadcast(bytes_of(numbers));
}

// Once round the ring: each process passes on a piece of the numbers, beginning with piece `first`, and gets
// the one before, which replaces its own, or is added to it.
template <class Number, class Packed>
void Mesh::go_round(std::span<Number> numbers, int first, bool add) {
  const int n = size(), next = (rank() + 1) % n, before = (rank() + n - 1) % n;
  const size_t longest = numbers.size() / static_cast<size_t>(n) + 1;
  std::vector<Packed> in(longest), out(std::is_same_v<Number, Packed> ? 0 : longest);
  for (int step = 0; step < n - 1; ++step) {
    const int sent = (first + 2 * n - step) % n, received = (sent + n - 1) % n;
    const std::span<Number> own = piece(numbers, sent, n), other = piece(numbers, received, n);
    const std::span<Packed> got = std::span(in).first(other.size());
    if constexpr (std::is_same_v<Number, Packed>) {
      exchange(next, bytes_of(own), before, bytes_of(add ? got : other));
      if (!add) continue;
    } else {
      const std::span<Packed> packed = std::span(out).first(own.size());
      for (size_t i = 0; i < own.size(); ++i) packed[i] = static_cast<Packed>(own[i]);
      exchange(next, bytes_of(packed), before, bytes_of(got));
    }
    for (size_t i = 0; i < other.size(); ++i)
      other[i] = add ? other[i] + static_cast<Number>(got[i]) : static_cast<Number>(got[i]);
  }
}

// In the first round each piece of the numbers is passed on and added to; in the second, the whole sums are
// passed on.
template <class Number, class Packed>
void Mesh::ring_sum(std::span<Number> numbers) {
  go_round<Number, Packed>(numbers, rank(), /*add=*/true);
  // Who added up a piece has it as the others will get it.
  for (Number& number : piece(numbers, (rank() + 1) % size(), size()))
    number = static_cast<Number>(static_cast<Packed>(number));
  go_round<Number, Packed>(numbers, rank() + 1, /*add=*/false);
}

namespace {

// Calls sum(numbers, a number as it is sent).
template <class Sum>
void with_numbers(torch::Tensor& x, Wire wire, const Sum& sum) {
  require(x.is_contiguous() && x.device().is_cpu(),
          "a sum over processes needs a contiguous tensor on the CPU");
  const auto numbers = [&]<class Number>(Number) {
    return std::span<Number>(x.data_ptr<Number>(), static_cast<size_t>(x.numel()));
  };
  switch (x.scalar_type()) {
    case torch::kFloat32:
      return wire == Wire::bf16 ? sum(numbers(float{}), c10::BFloat16()) : sum(numbers(float{}), float{});
    case torch::kFloat64:
      return sum(numbers(double{}), double{});
    case torch::kInt64:
      return sum(numbers(int64_t{}), int64_t{});
    default:
      fail("a sum over processes takes float32, float64 or int64, not ", x.scalar_type());
  }
}

}  // namespace

void Mesh::sum(torch::Tensor& x, Wire wire) {
  with_numbers(x, wire, [this]<class Number, class Packed>(std::span<Number> numbers, Packed) {
    if (numbers.size_bytes() <= kSmall)
      tree_sum(numbers);
    else
      ring_sum<Number, Packed>(numbers);
  });
}

// The first round of ring_sum, so that it ends with the own piece.
void Mesh::sum_pieces(torch::Tensor& x, Wire wire) {
  with_numbers(x, wire, [this]<class Number, class Packed>(std::span<Number> numbers, Packed) {
    go_round<Number, Packed>(numbers, rank() + size() - 1, /*add=*/true);
  });
}

// Round the ring, as the sums of ring_sum.
void Mesh::gather_pieces(torch::Tensor& x) {
  require(x.is_contiguous() && x.device().is_cpu(), "pieces are gathered in a contiguous tensor on the CPU");
  const int n = size(), next = (rank() + 1) % n, before = (rank() + n - 1) % n;
  const auto part = [&](int of) {
    const Piece own = piece_of(x.numel(), (of + n) % n, n);
    return std::span(static_cast<std::byte*>(x.data_ptr()) + own.begin * x.element_size(),
                     static_cast<size_t>(own.size() * x.element_size()));
  };
  for (int step = 0; step < n - 1; ++step)
    exchange(next, part(rank() - step), before, part(rank() - step - 1));
}

// In round k to the process k places on, from the one k places back.
void Mesh::exchange(const std::vector<torch::Tensor>& sent, const std::vector<torch::Tensor>& received) {
  const auto bytes = [](const torch::Tensor& x) {
    require(x.is_contiguous() && x.device().is_cpu(), "processes exchange contiguous tensors on the CPU");
    return std::span(static_cast<std::byte*>(x.data_ptr()), x.nbytes());
  };
  const int n = size();
  for (int k = 0; k < n; ++k) {
    const int to = (rank() + k) % n, from = (rank() + n - k) % n;
    const torch::Tensor &out = sent[static_cast<size_t>(to)], &in = received[static_cast<size_t>(from)];
    if (k == 0)
      in.copy_(out);
    else
      exchange(out.numel() > 0 ? to : -1, bytes(out), in.numel() > 0 ? from : -1, bytes(in));
  }
}

void Mesh::broadcast(std::span<std::byte> bytes) {
  int bit = 1;
  while (bit < size() && (rank() & bit) == 0) bit *= 2;
  if (rank() != 0) receive(rank() - bit, bytes);
  for (bit /= 2; bit > 0; bit /= 2)
    if (rank() + bit < size()) send(rank() + bit, bytes);
}

std::string Mesh::receive_text(int from) {
  uint64_t length = 0;
  receive(from, bytes_of(std::span(&length, 1)));
  std::string text(length, '\0');
  receive(from, bytes_of(std::span(text)));
  return text;
}

std::vector<std::string> Mesh::all_gather(std::string_view own) {
  std::vector<std::string> all(static_cast<size_t>(size()));
  all[static_cast<size_t>(rank())] = own;
  if (rank() == 0) {
    for (int other = 1; other < size(); ++other) all[static_cast<size_t>(other)] = receive_text(other);
  } else {
    uint64_t length = own.size();
    send(0, bytes_of(std::span(&length, 1)));
    send(0, std::as_bytes(std::span(own)));
  }
  for (std::string& text : all) {
    uint64_t length = text.size();
    broadcast(bytes_of(std::span(&length, 1)));
    text.resize(length);
    broadcast(bytes_of(std::span(text)));
  }
  return all;
}

}  // namespace mega::distributed
