#include "mega/distributed/world.h"

#include <utility>

#include "mega/distributed/rendezvous.h"

namespace mega::distributed {

World::World(const Placement& placement) : local_size_(placement.local_size) {
  Meeting meeting = meet(placement, /*channels=*/2);
  members_ = meeting.members;
  monitor_ = std::make_unique<Monitor>(members_, std::move(meeting.links), placement.silence, [this] {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    for (const Mesh* mesh : {common_.get(), gradients_.get()})
      if (mesh != nullptr) mesh->shut_down();
  });
  {
    const std::lock_guard lock(mutex_);
    common_ = std::make_unique<Mesh>(members_, std::move(meeting.sockets[0]), *monitor_);
    gradients_ = std::make_unique<Mesh>(members_, std::move(meeting.sockets[1]), *monitor_);
    if (!lost_) return;
  }
  common_->shut_down();
  gradients_->shut_down();
}

World::~World() { monitor_.reset(); }

std::string World::lead(std::string text) {
  text.resize(lead(static_cast<uint64_t>(text.size())));
  common().broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

void World::require_same(
    const std::string& what, const std::string& text,
    const std::function<std::string(const std::string&, const std::string&)>& difference) {
  const std::vector<std::string> all = common().all_gather(text);
  for (size_t other = 1; other < all.size(); ++other)
    if (all[other] != all.front())
      throw RunLost(what + " of " + members_.name(static_cast<int>(other)) + " is not that of " +
                    members_.name(0) + (difference ? ": " + difference(all.front(), all[other]) : ""));
}

void World::finish() {
  lead(0);
  common().all_gather("");
  monitor_->say_goodbye();
}

std::unique_ptr<World> join_world() {
  const auto placement = placement_from();
  return placement ? std::make_unique<World>(*placement) : nullptr;
}

}  // namespace mega::distributed
