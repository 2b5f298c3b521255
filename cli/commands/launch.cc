// `mega launch`: several processes of one training run, on this machine or by ssh.
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/launch/hosts.h"
#include "cli/launch/process_group.h"
#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHere = "localhost";
constexpr const char *kToken = "MEGA_TOKEN", *kJoin = "MEGA_JOIN_SECONDS", *kSilence = "MEGA_SILENCE_SECONDS";

struct LaunchCommand {
  int processes = 0;
  std::string hosts, master;
  int port = 0, restarts = 0;
  std::vector<std::string> command;

  void run() const;
  std::vector<ProcessStart> starts(bool again) const;
};

std::string random_token() {
  uint64_t words[4];
  require(getrandom(words, sizeof words, 0) == sizeof words, "no random numbers from the system");
  std::string token;
  for (const uint64_t word : words) token += hexadecimal(word);
  return token;
}

// A port of this machine that nobody uses now.
int free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const bool ok =
      descriptor >= 0 && bind(descriptor, any, size) == 0 && getsockname(descriptor, any, &size) == 0;
  if (descriptor >= 0) close(descriptor);
  require(ok, "no free port on this machine: ", std::strerror(errno));
  return ntohs(address.sin_port);
}

// After a failure the run goes on from its last checkpoint, or begins again if it has none.
std::vector<std::string> resumed(std::vector<std::string> command) {
  std::erase(command, "--restart");
  if (std::find(command.begin(), command.end(), "--resume") == command.end())
    command.emplace_back("--resume");
  return command;
}

std::vector<ProcessStart> LaunchCommand::starts(bool again) const {
  constexpr int kUsualPort = 29500;
  const std::vector<std::string> places =
      hosts.empty() ? std::vector<std::string>(static_cast<size_t>(processes), kHere)
                    : place_processes(parse_hosts(read_file(hosts), hosts), processes);
  const bool all_here =
      std::all_of(places.begin(), places.end(), [](const auto& host) { return host == kHere; });
  require(all_here || !master.empty() || places.front() != kHere,
          "--hosts: rank 0 is on localhost, which other machines cannot reach: give --master, its name or "
          "address");
  const char* token = std::getenv(kToken);
  const std::string secret = token != nullptr && *token != '\0' ? token : random_token();
  const std::string program = fs::read_symlink("/proc/self/exe");
  std::vector<std::string> arguments = {program};
  for (const std::string& word : again ? resumed(command) : command) arguments.push_back(word);
  const std::string port_text = std::to_string(port > 0 ? port : all_here ? free_port() : kUsualPort);

  std::vector<ProcessStart> all;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    ProcessStart start;
    start.name = "rank " + std::to_string(rank) + " on " + places[rank];
    start.environment = {
        {"RANK", std::to_string(rank)},
        {"WORLD_SIZE", std::to_string(places.size())},
        {"LOCAL_WORLD_SIZE", std::to_string(std::count(places.begin(), places.end(), places[rank]))},
        {"MASTER_ADDR", !master.empty() ? master
                        : all_here      ? "127.0.0.1"
                                        : places.front()},
        {"MASTER_PORT", port_text}};
    for (const char* name : {kJoin, kSilence})  // which other machines do not inherit
      if (const char* value = std::getenv(name)) start.environment[name] = value;
    if (places[rank] == kHere) {
      start.environment[kToken] = secret;
      start.command = arguments;
    } else {
      // The token by standard input, not as an argument: everybody on a machine can read those.
      std::string line = std::string("read -r ") + kToken + " && export " + kToken;
      for (const auto& [name, value] : start.environment) line += " " + name + "=" + shell_word(value);
      line += " && cd " + shell_word(fs::current_path().string()) + " || exit; exec 3<&0;";
      for (const std::string& word : arguments) line += " " + shell_word(word);
      // A signal to ssh would not reach the process: it is stopped there when standard input ends.
      line +=
          " </dev/null 3<&- & run=$!; { cat <&3 >/dev/null; kill -TERM $run; } 2>/dev/null & "
          "wait $run; status=$?; kill $! 2>/dev/null; exit $status";
      start.input = secret + "\n";
      start.is_far = true;
      start.command = {"ssh", "-o", "BatchMode=yes", places[rank], "exec sh -c " + shell_word(line)};
      start.environment.clear();
    }
    all.push_back(std::move(start));
  }
  return all;
}

// A little more than a lost process takes to be noticed.
std::chrono::seconds grace() {
  constexpr int kUsual = 30, kMore = 15;
  const char* silence = std::getenv(kSilence);  // the processes say what is wrong with it
  return std::chrono::seconds((silence == nullptr ? kUsual : std::max(1, std::atoi(silence))) + kMore);
}

void LaunchCommand::run() const {
  constexpr int kWrongUsage = 2;
  require(command.front() == "train", "launch: only `train` runs in several processes, not ",
          in_quotes(command.front()));
  for (int attempt = 0;; ++attempt) {
    const GroupEnd end = run_group(starts(attempt > 0), grace());
    if (end.status == 0) return;
    if (end.signal == 0 && attempt < restarts && end.status != kWrongUsage) {
      std::fprintf(stderr, "the run failed; starting again from its last checkpoint (%d of %d)\n",
                   attempt + 1, restarts);
      continue;
    }
    throw CLI::RuntimeError(end.signal != 0 ? 128 + end.signal : end.status);
  }
}

}  // namespace

void add_launch(CLI::App& app) {
  auto command = std::make_shared<LaunchCommand>();
  CLI::App* sub = app.add_subcommand("launch", "train with several processes, on this machine or on many");
  sub->add_option("-n,--processes", command->processes, "number of processes")
      ->required()
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  sub->add_option(
         "--hosts", command->hosts,
         "file that names the machines, one in a line, with slots=N for more than one process; they are "
         "reached by ssh and need the program and the data under the same paths (default: this machine)")
      ->type_name("FILE");
  sub->add_option("--master", command->master,
                  "name or address of the first machine that the others reach it by; it listens there alone "
                  "(default: the first of --hosts, or 127.0.0.1)")
      ->type_name("ADDRESS");
  sub->add_option("--port", command->port,
                  "where the processes meet (default: any free one, or 29500 with --hosts)")
      ->check(CLI::Range(1, 65535))
      ->type_name("PORT");
  sub->add_option("--restarts", command->restarts,
                  "how often to start again from the last checkpoint when a process fails")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->type_name("K");
  sub->add_option("command", command->command,
                  "`--`, then the command as one process would run it: -- train ...")
      ->required();
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
