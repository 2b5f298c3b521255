// Which process of a run this is, and where the processes meet: what torchrun, mpirun, Slurm or `mega launch`
// say in the environment.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mega::distributed {

struct Placement {
  int rank = 0;
  int size = 1;
  int local_size = 1;                // processes on this machine, where the launcher says so
  std::string master = "127.0.0.1";  // name or address of rank 0's machine: it listens there and nowhere else
  uint16_t port = 29500;             // 0 (rank 0 alone): any
  std::string token;                 // a secret that all processes of the run share
  std::chrono::milliseconds join{300'000};  // how long processes wait for each other at the start
  std::chrono::milliseconds silence{
      30'000};  // after so long without a sign of life, a process counts as lost
};

// The value of a variable of the environment, if it is set and not empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> process_environment(const char* name);

// nullopt: one process. Rank and size are RANK and WORLD_SIZE (torchrun, mega launch), OMPI_COMM_WORLD_*
// (Open MPI), PMI_* (MPICH, Intel) or SLURM_PROCID and SLURM_STEP_NUM_TASKS (srun), the first that are set.
// The place is MASTER_ADDR and MASTER_PORT; without them, Slurm's first node, or this machine where all
// processes are on it. MEGA_TOKEN is the secret. MEGA_JOIN_SECONDS and MEGA_SILENCE_SECONDS are the two
// times.
std::optional<Placement> placement_from(const Environment& environment = process_environment);

// The first name of a list of hosts as Slurm writes it: "node07" of "node[07-09,12],gpu1".
std::string first_host(const std::string& list);

}  // namespace mega::distributed
