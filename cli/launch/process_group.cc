#include "cli/launch/process_group.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "mega/base/error.h"

namespace mega::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP};

// The pipe that a process reads as its standard input: what it reads from, and what this one writes to.
std::array<int, 2> input_with(const std::string& text) {
  std::array<int, 2> ends;
  require(pipe2(ends.data(), O_CLOEXEC) == 0, "cannot create a pipe: ", std::strerror(errno));
  const ssize_t written = write(ends[1], text.data(), text.size());  // small: it fits into the buffer
  require(written == static_cast<ssize_t>(text.size()), "cannot write to a pipe: ", std::strerror(errno));
  return ends;
}

int open_log(const std::filesystem::path& path) {
  constexpr mode_t kMode = 0666;  // less what umask takes
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  require(file >= 0, path.string(), ": cannot be written: ", std::strerror(errno));
  return file;
}

struct Process {
  pid_t number = 0;  // 0: it has ended
  int input = -1;    // of one that is far, until it is told to end

  void tell(int signal) {
    if (number <= 0) return;
    if (input >= 0 && signal != SIGKILL) return close_input();
    kill(number, signal);
  }
  void close_input() {
    if (input >= 0) ::close(std::exchange(input, -1));
  }
};

Process start(const ProcessStart& how, const sigset_t& signals) {
  std::vector<char*> arguments;
  for (const std::string& word : how.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const auto [input, own_end] = input_with(how.input);
  const int output = how.log.empty() ? -1 : open_log(how.log);
  const pid_t parent = getpid(), process = fork();
  require(process >= 0, "cannot start a process: ", std::strerror(errno));
  if (process > 0) {
    ::close(input);
    if (output >= 0) ::close(output);
    if (how.is_far) return {process, own_end};
    ::close(own_end);
    return {process};
  }
  // In the new process, of which nothing returns.
  if (how.is_far) setpgid(0, 0);  // Ctrl-C is not for ssh, which would end at once
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  dup2(input, STDIN_FILENO);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
  }
  for (const auto& [name, value] : how.environment) setenv(name.c_str(), value.c_str(), 1);
  execvp(arguments.front(), arguments.data());
  std::fprintf(stderr, "mega: %s: cannot be run: %s\n", arguments.front(), std::strerror(errno));
  _exit(127);
}

int status_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// Why a process ended that could not say so itself, by its status; "": it could.
std::string silent_end(int status) {
  constexpr int kCannotRun = 126, kSignals = 128, kOfSsh = 255;
  if (status == kOfSsh) return "cannot be reached by ssh, or no longer";
  if (status > kSignals) return "was ended by signal " + std::to_string(status - kSignals);
  return status >= kCannotRun ? "could not be started" : "";
}

class Group {
 public:
  Group(const std::vector<ProcessStart>& starts, const sigset_t& signals) : starts_(starts) {
    for (const ProcessStart& one : starts) processes_.push_back(start(one, signals));
  }

  bool running() const {
    return std::any_of(processes_.begin(), processes_.end(),
                       [](const Process& process) { return process.number > 0; });
  }
  const GroupEnd& end() const { return end_; }
  bool failed() const { return end_.status != 0; }

  void pass_on(int signal) {
    for (Process& process : processes_) process.tell(signal);
  }
  void got(int signal) {
    end_.signal = signal;
    pass_on(signal);
  }
  void collect() {
    for (size_t i = 0; i < processes_.size(); ++i) {
      int status = 0;
      pid_t& number = processes_[i].number;
      if (number <= 0 || waitpid(number, &status, WNOHANG) != number) continue;
      number = 0;
      processes_[i].close_input();
      if (!failed()) note_end(starts_[i].name, status_of(status));
    }
  }

 private:
  void note_end(const std::string& name, int status) {
    end_.status = status;
    const std::string why = end_.signal != 0 ? "" : silent_end(status);
    if (!why.empty()) std::fprintf(stderr, "mega: %s %s\n", name.c_str(), why.c_str());
  }

  const std::vector<ProcessStart>& starts_;
  std::vector<Process> processes_;
  GroupEnd end_;
};

// While it exists, signals are waited for and not delivered.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int signal : kPassedOn) sigaddset(&held_, signal);
    sigaddset(&held_, SIGCHLD);
    sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& before() const { return before_; }
  // The next one; 0: none within this time.
  int wait(std::chrono::milliseconds time) const {
    const timespec limit = {static_cast<time_t>(time.count() / 1000),
                            static_cast<long>(time.count() % 1000) * 1'000'000};
    const int signal = sigtimedwait(&held_, nullptr, &limit);
    return signal > 0 ? signal : 0;
  }

 private:
  sigset_t held_, before_;
};

}  // namespace

GroupEnd run_group(const std::vector<ProcessStart>& starts, std::chrono::seconds grace,
                   const std::function<void()>& meanwhile) {
  constexpr auto kBeforeKilling = std::chrono::seconds(10);
  constexpr auto kOften = std::chrono::milliseconds(500);
  const HeldSignals signals;
  Group group(starts, signals.before());
  std::optional<Clock::time_point> terminate, kill;
  while (group.running()) {
    const int signal = signals.wait(kOften);
    if (signal != 0 && signal != SIGCHLD) group.got(signal);
    group.collect();
    meanwhile();
    const auto now = Clock::now();
    if (group.failed() && !terminate) terminate = now + grace;
    if (terminate && !kill && now >= *terminate) {
      group.pass_on(SIGTERM);
      kill = now + kBeforeKilling;
    }
    // A process that is stopped does not end by SIGTERM.
    if (kill && now >= *kill) group.pass_on(SIGKILL);
  }
  return group.end();
}

}  // namespace mega::cli
