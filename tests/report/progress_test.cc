#include "mega/report/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::ScratchFolder;

ProgressState state() {
  return {.title = "train",
          .unit = "examples",
          .details = {},
          .done = 1234,
          .total = 5678,
          .rate = 100,
          .seconds = 12.34,
          .last = false};
}

// A pseudo-terminal that records what is written to it.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : near_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    ::setenv("TERM", "xterm", 1);
    require(near_ >= 0 && ::grantpt(near_) == 0 && ::unlockpt(near_) == 0, "no terminal to be had");
    far_ = ::fopen(::ptsname(near_), "r+");
    require(far_ != nullptr, "cannot open the terminal");
    winsize size{};
    size.ws_col = columns;
    ::ioctl(near_, TIOCSWINSZ, &size);
    ::fcntl(near_, F_SETFL, O_NONBLOCK);
  }
  ~Terminal() {
    ::fclose(far_);
    ::close(near_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::FILE* file() const { return far_; }
  std::string written() {
    char piece[4096];
    for (ssize_t count = 0; (count = ::read(near_, piece, sizeof piece)) > 0;)
      all_.append(piece, static_cast<size_t>(count));
    return all_;
  }

 private:
  int near_;
  std::FILE* far_ = nullptr;
  std::string all_;
};

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// Output of a run without a terminal.
template <class Run>
std::string in_a_file(Run run) {
  const ScratchFolder folder;
  std::FILE* file = std::fopen((folder / "log").c_str(), "w");
  run(file);
  std::fclose(file);
  return read_file(folder / "log");
}

TEST(ProgressLine, ShowsCountRateAndTime) {
  EXPECT_EQ(progress_line(state(), 0), "train  21 %  1,234/5,678 examples  100 examples/s  44.4 s left");
  EXPECT_EQ(progress_line(state(), 80),
            "train  [==>          ]   21 %  1,234/5,678 examples  100 examples/s  44.4 s left");
  ProgressState with_detail = state();
  with_detail.details = {"loss 1.5"};
  EXPECT_EQ(progress_line(with_detail, 0), "train  21 %  1,234/5,678 examples  loss 1.5  44.4 s left");
  ProgressState last = state();
  last.last = true;
  EXPECT_EQ(progress_line(last, 0), "train  21 %  1,234/5,678 examples  100 examples/s  12.3 s");
  ProgressState unknown = state();
  unknown.total = 0;
  unknown.rate = 0.5;
  EXPECT_EQ(progress_line(unknown, 120), "train  1,234 examples  0.5 examples/s  12.3 s");
  ProgressState start = state();
  start.rate = 0;
  EXPECT_EQ(progress_line(start, 0), "train  21 %  1,234/5,678 examples");
}

TEST(ProgressLine, Shows100PercentOnlyAtTheEnd) {
  ProgressState nearly = state();
  nearly.done = 9999;
  nearly.total = 10000;
  EXPECT_PRED2(contains, progress_line(nearly, 200), "[=============================>]   99 %");
  nearly.done = 10000;
  EXPECT_PRED2(contains, progress_line(nearly, 200), "[==============================]  100 %");
  nearly.done = 20000;
  EXPECT_PRED2(contains, progress_line(nearly, 200),
               "[==============================]  100 %  20,000/10,000");
}

TEST(ProgressLine, FitsEveryWidth) {
  ProgressState wide = state();
  wide.title = "Größe 訓練 des Modells";
  for (int64_t width = 1; width < 200; ++width) {
    const std::string line = progress_line(wide, width);
    EXPECT_LE(display_width(line), width);
    EXPECT_NE(static_cast<unsigned char>(line.back()) & 0xC0, 0xC0u) << "half a character at " << width;
  }
  EXPECT_EQ(progress_line(wide, 8), "Größe 訓");
  EXPECT_EQ(progress_line(wide, 9), "Größe 訓");
}

TEST(ProgressLine, LeavesOutTheLeastImportantFirst) {
  ProgressState training = state();
  training.title = "training";
  training.details = {"loss 1.367", "valid accuracy 52.1 % ± 3.1", "accuracy 49.7 %", "38,026 tokens/s"};
  EXPECT_EQ(progress_line(training, 150),
            "training  [====>                ]   21 %  1,234/5,678 examples  loss 1.367  valid accuracy "
            "52.1 % ± 3.1  accuracy 49.7 %  38,026 tokens/s  44.4 s left");
  EXPECT_EQ(progress_line(training, 80),
            "training  [===>          ]   21 %  1,234/5,678 examples  loss 1.367  44.4 s left");
  EXPECT_EQ(progress_line(training, 60), "training  [===>            ]   21 %  loss 1.367  44.4 s left");
  EXPECT_EQ(progress_line(training, 40), "training  [=>      ]   21 %  44.4 s left");
  EXPECT_EQ(progress_line(training, 32), "training  [=>     ]  44.4 s left");
  EXPECT_EQ(progress_line(training, 26), "train[=>    ]  44.4 s left");
  for (int64_t width = 21; width < 150; ++width) {
    const std::string line = progress_line(training, width);
    EXPECT_LE(display_width(line), width);
    EXPECT_PRED2(contains, line, ">");
    EXPECT_TRUE(line.ends_with("]  44.4 s left") || line.ends_with("  44.4 s left")) << line;
  }
}

TEST(ProgressLine, HandlesUnusualNumbers) {
  ProgressState strange = state();
  strange.details = {"two\nlines\x1b[31m"};
  strange.done = std::numeric_limits<int64_t>::min();
  strange.rate = std::numeric_limits<double>::quiet_NaN();
  strange.seconds = std::numeric_limits<double>::infinity();
  const std::string line = progress_line(strange, 100);
  EXPECT_PRED2(contains, line, "0/5,678 examples  two lines [31m");
  strange.title = "\u009b2J";
  EXPECT_PRED2(contains, progress_line(strange, 100), "\\u009b2J");
  strange.done = strange.total = std::numeric_limits<int64_t>::max();
  strange.rate = std::numeric_limits<double>::infinity();
  EXPECT_PRED2(contains, progress_line(strange, 0), "100 %");
}

TEST(Progress, PrintsOneLineAtTheEndWithoutATerminal) {
  const std::string log = in_a_file([](std::FILE* file) {
    Progress progress("read", 100'000, "lines", file);
    for (int64_t i = 0; i <= 100'000; ++i) {
      if (i == 100'000)
        progress.update(i, {"all well"});
      else
        progress.update(i);
    }
  });
  EXPECT_TRUE(log.starts_with("read  100 %  100,000/100,000 lines  all well  ")) << log;
  EXPECT_EQ(count_of(log, "\n"), 1u);
  EXPECT_EQ(count_of(log, "\x1b"), 0u);
  EXPECT_EQ(log.back(), '\n');
}

TEST(Progress, PrintsMessagesWithoutATerminal) {
  EXPECT_EQ(in_a_file([](std::FILE* file) {
              Progress progress("read", 10, "lines", file);
              progress.say("a warning");
            }),
            "a warning\n")
      << "no progress line without an update";
}

TEST(Progress, RewritesOneLineOnATerminal) {
  Terminal terminal(100);
  {
    Progress progress("read", 1000, "lines", terminal.file());
    for (int64_t i = 1; i <= 1000; ++i) progress.update(i);
    progress.say("a warning");
  }
  const std::string written = terminal.written();
  EXPECT_TRUE(written.starts_with("\r\x1b[Kread  [")) << written;
  EXPECT_PRED2(contains, written, "\r\x1b[Ka warning\r\n\r\x1b[Kread  [=");
  EXPECT_PRED2(contains, written, "100 %  1,000/1,000 lines");
  EXPECT_TRUE(written.ends_with("\r\n"));
  EXPECT_EQ(count_of(written, "\n"), 2u) << "after the warning and at the end";
  EXPECT_LT(count_of(written, "\r\x1b[K"), 50u) << "not redrawn for every update";
  for (const std::string& line : split(written, '\r'))
    EXPECT_LE(display_width(line), 99 + 3) << "terminal width plus the erase sequence";
}

TEST(Progress, DumbTerminalGetsPlainLines) {
  Terminal terminal(60);
  ::setenv("TERM", "dumb", 1);
  {
    Progress progress("read", 10, "lines", terminal.file());
    progress.update(10);
  }
  EXPECT_EQ(count_of(terminal.written(), "\x1b"), 0u);
  EXPECT_TRUE(terminal.written().starts_with("read  100 %  10/10 lines"));
}

TEST(Progress, IgnoresWriteErrors) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  {
    Progress progress("read", -5, "lines", full);
    progress.update(-1);
    progress.update(3);
    progress.say("text");
  }
  std::fclose(full);
}

}  // namespace
}  // namespace mega
