// Real processes, for tests of whole runs.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "mega/report/terminal.h"
#include "tests/distributed/worlds.h"

namespace mega::distributed {

// Runs body(world) in as many processes, with a thread each; one alone has no world. The caller must not have
// used libtorch's threads before.
inline void in_processes(int size, const std::function<void(World* world)>& body) {
  const uint16_t port = free_port();
  const bool failed_before = ::testing::Test::HasFailure();  // which children inherit
  std::vector<pid_t> processes;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      try {
        at::set_num_threads(1);
        be_quiet();
        std::unique_ptr<World> world;
        if (size > 1) world = std::make_unique<World>(placement_of(rank, size, port));
        body(world.get());
        if (world) world->finish();
        _exit(::testing::Test::HasFailure() && !failed_before ? 1 : 0);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        _exit(1);
      }
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace mega::distributed
