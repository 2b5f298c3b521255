// Worlds of several ranks in one process, a thread each: they talk over TCP as processes do.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "mega/distributed/socket.h"
#include "mega/distributed/world.h"

namespace mega::distributed {

// A port that was free a moment ago.
inline uint16_t free_port() { return own_address(listen_on("127.0.0.1", 0)).port; }

inline Placement placement_of(int rank, int size, uint16_t port) {
  Placement placement;
  placement.rank = rank;
  placement.size = size;
  placement.port = port;
  placement.token = "a secret of the test";
  placement.join = std::chrono::seconds(20);
  placement.silence = std::chrono::seconds(20);
  return placement;
}

// Runs body(world) in every rank; returns what each threw, "" where it threw nothing.
inline std::vector<std::string> in_worlds(int size, const std::function<void(World&)>& body,
                                          const std::function<void(Placement&)>& change = nullptr) {
  const uint16_t port = free_port();
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] {
      try {
        Placement placement = placement_of(rank, size, port);
        if (change) change(placement);
        World world(placement);
        body(world);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& rank : ranks) rank.join();
  return errors;
}

inline void expect_none(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace mega::distributed
