// Runs a program on a pseudo-terminal and copies what it writes there to standard output, so that tests see
// what people see. Exits as the program does. usage: on_terminal COLUMNS PROGRAM ARGUMENT...
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

int main(int argc, char** argv) {
  constexpr int kWrongUsage = 2, kNotStarted = 127, kSignal = 128;
  if (argc < 3) {
    std::fputs("usage: on_terminal COLUMNS PROGRAM ARGUMENT...\n", stderr);
    return kWrongUsage;
  }
  const int screen = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (screen < 0 || ::grantpt(screen) != 0 || ::unlockpt(screen) != 0) {
    std::perror("no pseudo-terminal");
    return kNotStarted;
  }
  winsize size{};
  size.ws_col = static_cast<unsigned short>(std::atoi(argv[1]));
  size.ws_row = 24;
  ::ioctl(screen, TIOCSWINSZ, &size);
  const pid_t child = ::fork();
  if (child < 0) {
    std::perror("cannot fork");
    return kNotStarted;
  }
  if (child == 0) {
    ::setsid();
    const int terminal = ::open(::ptsname(screen), O_RDWR);  // becomes the controlling terminal
    for (const int to : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(terminal, to);
    ::close(screen);
    ::setenv("TERM", "xterm", 1);
    ::execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    ::_exit(kNotStarted);
  }
  char piece[4096];
  for (ssize_t count = 0;
       (count = ::read(screen, piece, sizeof piece)) > 0;)  // an error once all have closed it
    std::fwrite(piece, 1, static_cast<size_t>(count), stdout);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignal + WTERMSIG(status);
}
