#include "mega/distributed/rendezvous.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/base/version.h"
#include "mega/distributed/gate.h"

namespace mega::distributed {
namespace {

using nlohmann::json;

std::string host_name() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

Member this_member(const Address& address) { return {host_name(), getpid(), address}; }

json to_json(const Member& member) {
  return {{"host", member.host},
          {"process", member.process},
          {"address", member.address.host},
          {"port", member.address.port}};
}

Member to_member(const json& value) {
  return {value.at("host").get<std::string>(),
          value.at("process").get<int>(),
          {value.at("address").get<std::string>(), value.at("port").get<uint16_t>()}};
}

std::string name_of(int rank, const Member& member) {
  return Members{0, std::vector<Member>(static_cast<size_t>(rank) + 1, member)}.name(rank);
}

// What a process says when it comes.
struct Arrival {
  int rank = 0, size = 0;
  std::string version;
  Member member;
};

Arrival to_arrival(const std::string& text) {
  const json value = json::parse(text);
  return {value.at("rank").get<int>(), value.at("size").get<int>(), value.at("version").get<std::string>(),
          to_member(value.at("member"))};
}

std::string seconds_text(std::chrono::milliseconds time) {
  return human_seconds(std::chrono::duration<double>(time).count());
}

// Rank 0's side.
class Host {
 public:
  explicit Host(const Placement& placement)
      : placement_(placement), gate_(listen_on(placement.master, placement.port), placement.token) {
    const auto size = static_cast<size_t>(placement.size);
    meeting_.members.all.resize(size);
    links_.resize(size);
  }

  Meeting receive_all(const Address& own) {
    meeting_.members.all.front() = this_member(own);
    const auto start = Clock::now();
    const Deadline deadline = start + placement_.join;
    Deadline patience = start + std::chrono::seconds(10);
    while (present_ < placement_.size) {
      auto guest = gate_.next(std::min(deadline, patience));
      if (guest) {
        receive(std::move(*guest));
      } else if (Clock::now() >= deadline) {
        refuse("no sign of " + missing() + " after " + seconds_text(placement_.join) + " at " +
               placement_.master + ":" + std::to_string(placement_.port) +
               ": was it started, with the same MEGA_TOKEN, and can its machine reach this address?");
      } else {
        std::fprintf(stderr, "waiting for %s\n", printable(missing()).c_str());
        patience += std::chrono::seconds(30);
      }
    }
    json table = json::array();
    for (const Member& member : meeting_.members.all) table.push_back(to_json(member));
    tell_all({{"members", table}});
    for (size_t rank = 1; rank < links_.size(); ++rank) meeting_.links.push_back(std::move(links_[rank]));
    return std::move(meeting_);
  }

 private:
  void receive(Gate::Guest guest) {
    Arrival arrival;
    try {
      arrival = to_arrival(guest.message);
    } catch (const std::exception&) {
      return;  // it knows the token, but is no process of this program
    }
    waiting_.push_back(std::move(guest.socket));
    const std::string name = arrival.rank >= 0 ? name_of(arrival.rank, arrival.member) : "a process";
    const Members& members = meeting_.members;
    if (arrival.version != version())
      refuse(name + " runs version " + arrival.version + " and " + members.name(0) + " version " + version() +
             ": install the same version everywhere");
    if (arrival.size != placement_.size)
      refuse(name + " was told of " + std::to_string(arrival.size) + " processes and " + members.name(0) +
             " of " + std::to_string(placement_.size));
    const auto at = static_cast<size_t>(arrival.rank);
    if (arrival.rank < 1 || arrival.rank >= placement_.size || links_[at])
      refuse(name + " has the rank of another process" +
             (arrival.rank >= 0 && arrival.rank < placement_.size ? ", " + members.name(arrival.rank) : "") +
             ": are two runs using the same address and port?");
    meeting_.members.all[at] = arrival.member;
    links_[at] = std::move(waiting_.back());
    waiting_.pop_back();
    ++present_;
  }

  std::string missing() const {
    std::vector<std::string> ranks;
    for (size_t rank = 1; rank < links_.size(); ++rank)
      if (!links_[rank]) ranks.push_back(std::to_string(rank));
    constexpr size_t kNamed = 16;
    const bool many = ranks.size() > kNamed;
    if (many) ranks.resize(kNamed);
    return (ranks.size() == 1 ? "rank " : "ranks ") + join(ranks, ", ") + (many ? ", ..." : "");
  }

  void tell_all(const json& message) {
    const std::string text = message.dump();
    for (const auto* sockets : {&links_, &waiting_})
      for (const Socket& socket : *sockets)
        if (socket) send_message(socket, text, Clock::now() + std::chrono::seconds(10));
  }

  [[noreturn]] void refuse(const std::string& why) {
    try {
      tell_all({{"error", why}});
    } catch (const Error&) {
      // Who has gone meanwhile needs no message.
    }
    throw RunLost(why);
  }

  Placement placement_;
  Gate gate_;
  Meeting meeting_;
  std::vector<Socket> links_;    // by rank
  std::vector<Socket> waiting_;  // not admitted yet
  int present_ = 1;
};

// The side of the others; the link with rank 0.
Meeting arrive(const Placement& placement, Socket link, const Address& own) {
  const json arrival = {{"rank", placement.rank},
                        {"size", placement.size},
                        {"version", version()},
                        {"member", to_json(this_member(own))}};
  Meeting meeting;
  send_message(link, arrival.dump(), Clock::now() + placement.join);
  // Rank 0 gives up at its own deadline, and says so: a little later.
  const json answer =
      json::parse(receive_message(link, Clock::now() + placement.join + std::chrono::seconds(10)));
  if (answer.contains("error")) throw RunLost(answer.at("error").get<std::string>());
  for (const json& member : answer.at("members")) meeting.members.all.push_back(to_member(member));
  meeting.links.push_back(std::move(link));
  return meeting;
}

// Connections of every channel with every other process.
void connect_all(Meeting& meeting, Gate& gate, const Placement& placement, int channels) {
  const Deadline deadline = Clock::now() + std::chrono::seconds(60);
  const int size = meeting.members.size(), rank = placement.rank;
  meeting.sockets.resize(static_cast<size_t>(channels));
  for (auto& sockets : meeting.sockets) sockets.resize(static_cast<size_t>(size));
  for (int other = 0; other < rank; ++other) {
    const Address& address = meeting.members.all[static_cast<size_t>(other)].address;
    for (int channel = 0; channel < channels; ++channel) {
      try {
        Socket socket = connect_to(address.host, address.port, deadline);
        introduce(socket, placement.token, deadline);
        send_message(socket, json{{"rank", rank}, {"channel", channel}}.dump(), deadline);
        meeting.sockets[static_cast<size_t>(channel)][static_cast<size_t>(other)] = std::move(socket);
      } catch (const Error& error) {
        throw RunLost(meeting.members.name(rank) + " found no way to " + meeting.members.name(other) + ": " +
                      error.what());
      }
    }
  }
  for (int missing = (size - 1 - rank) * channels; missing > 0; --missing) {
    auto guest = gate.next(deadline);
    if (!guest) throw RunLost(meeting.members.name(rank) + ": not all ranks above found the way here");
    const json who = json::parse(guest->message);
    Socket& place = meeting.sockets.at(who.at("channel").get<size_t>()).at(who.at("rank").get<size_t>());
    place = std::move(guest->socket);
  }
}

Socket connect_to_master(const Placement& placement) {
  const Deadline deadline = Clock::now() + placement.join;
  try {
    Socket link = connect_to(placement.master, placement.port, deadline);
    introduce(link, placement.token, deadline);
    return link;
  } catch (const Error& error) {
    throw RunLost("rank " + std::to_string(placement.rank) + " (" + host_name() +
                  ") did not get to rank 0 at " + placement.master + ":" + std::to_string(placement.port) +
                  " within " + seconds_text(placement.join) + ": " + error.what());
  }
}

}  // namespace

Meeting meet(const Placement& placement, int channels) {
  Meeting meeting;
  std::unique_ptr<Gate> gate;  // for the connections of the others
  try {
    if (placement.rank == 0) {
      Host host(placement);
      gate = std::make_unique<Gate>(listen_on(placement.master, 0), placement.token);
      meeting = host.receive_all(gate->address());
    } else {
      Socket link = connect_to_master(placement);
      // The address by which this machine reached rank 0 is one by which the others reach it.
      gate = std::make_unique<Gate>(listen_on(own_address(link).host, 0), placement.token);
      meeting = arrive(placement, std::move(link), gate->address());
    }
    meeting.members.rank = placement.rank;
    connect_all(meeting, *gate, placement, channels);
  } catch (const json::exception& error) {
    throw RunLost(std::string("what a process of the run said cannot be understood: ") + error.what());
  }
  return meeting;
}

}  // namespace mega::distributed
