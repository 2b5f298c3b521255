#include "cli/terminal/interrupt.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

namespace mega::cli {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  int reading() const { return ends[0]; }
  int writing() const { return ends[1]; }
  std::array<int, 2> ends;
};

// Runs `action` in a thread, which gets SIGINT while it blocks.
template <class Action>
void interrupt(const Action& action, const std::function<void()>& afterwards) {
  std::thread blocked(action);
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    InterruptGuard::forget();  // a second signal would end the program
    pthread_kill(blocked.native_handle(), SIGINT);
  }
  afterwards();
  blocked.join();
}

TEST(Interrupt, WritingGoesOn) {
  // A terminal that is slower than the model: the answer's text waits in write() when Ctrl-C comes.
  const InterruptGuard guard;
  const Pipe pipe;
  std::FILE* out = ::fdopen(pipe.writing(), "w");
  const std::string text(1 << 20, 'x');  // more than a pipe holds
  size_t read = 0;
  interrupt(
      [&] {
        EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), out), text.size());
        EXPECT_EQ(std::fclose(out), 0);
      },
      [&] {
        std::array<char, 1 << 16> buffer;
        for (ssize_t count; (count = ::read(pipe.reading(), buffer.data(), buffer.size())) > 0;)
          read += static_cast<size_t>(count);
      });
  EXPECT_EQ(read, text.size());
  EXPECT_TRUE(InterruptGuard::interrupted());
  ::close(pipe.reading());
}

TEST(Interrupt, ReadingEndsWhereItMay) {
  const InterruptGuard guard;
  const Pipe pipe;
  interrupt(
      [&] {
        const InterruptibleRead interruptible;
        char byte;
        EXPECT_EQ(::read(pipe.reading(), &byte, 1), -1);
        EXPECT_EQ(errno, EINTR);
        // The thread stays for the signals that follow.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      },
      [] {});
  ::close(pipe.reading());
  ::close(pipe.writing());
}

}  // namespace
}  // namespace mega::cli
