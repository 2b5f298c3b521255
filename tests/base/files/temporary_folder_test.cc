#include "mega/base/files/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tests/base/helpers.h"

namespace mega {
namespace {

namespace fs = std::filesystem;
using testing::ScratchFolder;

TEST(TemporaryFolder, WhatKilledProcessesLeftIsRemoved) {
  const ScratchFolder root;
  ::setenv("TMPDIR", root.path().c_str(), 1);
  const auto start = [&] {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t process = ::fork();
    if (process == 0) {
      const TemporaryFolder folder;
      std::ofstream(folder.path() / "file") << "x";
      (void)!::write(ready[1], "x", 1);
      while (true) ::pause();
    }
    char x = 0;
    EXPECT_EQ(::read(ready[0], &x, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    return process;
  };
  const auto end = [](pid_t process) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
  };
  const auto count = [&] { return std::distance(fs::directory_iterator(root.path()), {}); };
  fs::create_directories(root / "mega_of_the_user");
  const pid_t killed = start(), alive = start();
  end(killed);
  EXPECT_EQ(count(), 3);
  {
    const TemporaryFolder folder;
    EXPECT_EQ(count(), 3) << "one left, one gone, one new";
  }
  EXPECT_EQ(count(), 2);
  end(alive);
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace mega
