// The processes of a run, as each other sees them.
#pragma once

#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/distributed/socket.h"

namespace mega::distributed {

struct Member {
  std::string host;  // name of its machine
  int process = 0;   // its number there
  Address address;   // where it takes connections of the others while a run starts
};

struct Members {
  int rank = 0;  // of this process
  std::vector<Member> all;

  int size() const { return static_cast<int>(all.size()); }
  // "rank 2 (node7, process 1234)"
  std::string name(int of) const {
    const Member& member = all[static_cast<size_t>(of)];
    return "rank " + std::to_string(of) + " (" + member.host + ", process " + std::to_string(member.process) +
           ")";
  }
};

// A run cannot go on: a process of it has failed, is lost, or does not fit the others.
class RunLost : public Error {
 public:
  using Error::Error;
};

}  // namespace mega::distributed
