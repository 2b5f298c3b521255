#include "mega/base/system/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "mega/base/error.h"

namespace mega {
namespace {

constexpr size_t kKeptOutput = size_t{64} << 10;

class Pipe {
 public:
  Pipe() { require(::pipe2(ends_.data(), O_CLOEXEC) == 0, "cannot create a pipe: ", std::strerror(errno)); }
  ~Pipe() {
    close_writer();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

  // Reads until all writers have closed the pipe; returns the end of the output.
  std::string read_to_end() {
    std::string text;
    std::array<char, 4096> buffer;
    while (true) {
      const ssize_t count = ::read(ends_[0], buffer.data(), buffer.size());
      if (count == 0) return text;
      if (count < 0 && errno == EINTR) continue;
      require(count > 0, "cannot read from a pipe: ", std::strerror(errno));
      text.append(buffer.data(), static_cast<size_t>(count));
      if (text.size() > kKeptOutput) text.erase(0, text.size() - kKeptOutput);
    }
  }

 private:
  std::array<int, 2> ends_;
};

// Attributes for posix_spawn.
class SpawnSettings {
 public:
  SpawnSettings(int output, const std::filesystem::path& folder) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    ::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());

    // A program that inherits an ignored SIGPIPE would keep running if this process died.
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigaddset(&signals, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  // The process ID, or a negated error number.
  pid_t spawn(const std::vector<std::string>& command) const {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t process = 0;
    const int error =
        ::posix_spawnp(&process, arguments[0], &actions_, &attributes_, arguments.data(), ::environ);
    return error == 0 ? process : -error;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// A process that is killed and reaped when this object is destroyed.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {}
  ~Child() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return status;
  }

 private:
  pid_t process_;
};

}  // namespace

std::optional<ProgramEnd> run_program(const std::vector<std::string>& command,
                                      const std::filesystem::path& folder) {
  Pipe pipe;
  const pid_t process = SpawnSettings(pipe.writer(), folder).spawn(command);
  if (process == -ENOENT) return std::nullopt;
  require(process > 0, command[0], ": cannot start: ", std::strerror(-process));
  Child child(process);
  pipe.close_writer();

  ProgramEnd end;
  end.output = pipe.read_to_end();
  const int status = child.wait();
  end.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status))
    end.how = "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  else
    end.how = "exit status " + std::to_string(WEXITSTATUS(status));
  return end;
}

}  // namespace mega
