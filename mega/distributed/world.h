// The processes of a run, seen from one of them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "mega/distributed/communicator.h"
#include "mega/distributed/mesh.h"
#include "mega/distributed/placement.h"

namespace mega::distributed {

class World {
 public:
  // Waits for all processes.
  explicit World(const Placement& placement);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return members_.rank; }
  int size() const { return members_.size(); }
  int local_size() const { return local_size_; }  // processes that share this machine, as far as is known
  bool leads() const { return rank() == 0; }
  const Members& members() const { return members_; }

  // Two sets of connections, so that gradients travel while the model runs: what one thread does together
  // with the others does not get in the way of what another does.
  Communicator& common() { return *common_; }
  Communicator& gradients() { return *gradients_; }

  // The value of rank 0.
  template <class Value>
  Value lead(Value value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    common().broadcast(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  std::string lead(std::string text);

  // A RunLost that names the first process whose text is not that of rank 0. `difference` says in words how
  // its text differs.
  void require_same(const std::string& what, const std::string& text,
                    const std::function<std::string(const std::string& first, const std::string& other)>&
                        difference = nullptr);

  // Tells all others why this process fails; they stop with that message.
  void report_failure(const std::string& why) { monitor_->report_failure(why); }
  // Waits until all have come to the end; from then on nobody is missed who leaves.
  void finish();

 private:
  Members members_;
  int local_size_ = 1;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Mesh> common_, gradients_;
  std::mutex mutex_;  // the monitor may find a loss before the connections are in place
  bool lost_ = false;
};

// By the environment; null: one process alone, which needs no network.
std::unique_ptr<World> join_world();

}  // namespace mega::distributed
