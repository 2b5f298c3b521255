// Collectives over TCP: every process has a connection with every other.
//
// Large sums go round a ring, in two rounds of size - 1 steps, so that each process sends 2 (size - 1) / size
// of the bytes whatever the size of the run. Small sums go up and down a binomial tree, which takes 2
// log2(size) steps. In both, each number is added up in one place and passed on: all processes have the same
// bits.
#pragma once

#include <memory>
#include <vector>

#include "mega/distributed/communicator.h"
#include "mega/distributed/monitor.h"

namespace mega::distributed {

class Mesh final : public Communicator {
 public:
  // `sockets`: by rank, none at this process's own. The monitor must outlive it.
  Mesh(Members members, std::vector<Socket> sockets, Monitor& monitor);

  int rank() const override { return members_.rank; }
  int size() const override { return members_.size(); }
  void sum(torch::Tensor& x, Wire wire) override;
  void sum_pieces(torch::Tensor& x, Wire wire) override;
  void gather_pieces(torch::Tensor& x) override;
  void exchange(const std::vector<torch::Tensor>& sent, const std::vector<torch::Tensor>& received) override;
  void broadcast(std::span<std::byte> bytes) override;
  std::vector<std::string> all_gather(std::string_view own) override;
  int64_t bytes_sent() const override { return bytes_sent_; }
  double seconds_waited() const override { return seconds_waited_; }

  // From any thread: ends whatever waits.
  void shut_down() const;

 private:
  // One message each way, at the same time; a rank < 0 stands for none.
  void exchange(int to, std::span<const std::byte> sent, int from, std::span<std::byte> received);
  void send(int to, std::span<const std::byte> bytes) { exchange(to, bytes, -1, {}); }
  void receive(int from, std::span<std::byte> bytes) { exchange(-1, {}, from, bytes); }
  std::string receive_text(int from);

  template <class Number>
  void tree_sum(std::span<Number> numbers);
  template <class Number, class Packed>
  void go_round(std::span<Number> numbers, int first, bool add);
  template <class Number, class Packed>
  void ring_sum(std::span<Number> numbers);

  Members members_;
  std::vector<Socket> peers_;
  Monitor& monitor_;
  int64_t bytes_sent_ = 0;
  double seconds_waited_ = 0.0;
};

}  // namespace mega::distributed
