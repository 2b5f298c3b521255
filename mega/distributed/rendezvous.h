// How the processes of a run find each other.
//
// Rank 0 listens at the place that all were told; each other process connects there, proves the token, and
// says who it is. When all are there, each learns where the others take connections, and connects with those
// of lower rank. Then nothing listens any more.
#pragma once

#include <vector>

#include "mega/distributed/members.h"
#include "mega/distributed/placement.h"

namespace mega::distributed {

struct Meeting {
  Members members;
  std::vector<Socket> links;                 // as Monitor takes them
  std::vector<std::vector<Socket>> sockets;  // of each channel, as Mesh takes them
};

// A RunLost that names who is missing or does not fit, at every process that came.
Meeting meet(const Placement& placement, int channels);

}  // namespace mega::distributed
