#include "mega/base/system/child_process.h"

#include <gtest/gtest.h>

#include <csignal>

#include "mega/base/files/file.h"
#include "mega/base/files/temporary_folder.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

TEST(RunProgram, CapturesBothOutputsAndExitStatus) {
  const TemporaryFolder folder;
  const auto end = run_program({"sh", "-c", "echo one; echo two >&2; exit 3"}, folder.path());
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->ok);
  EXPECT_EQ(end->how, "exit status 3");
  EXPECT_EQ(end->output, "one\ntwo\n");
}

TEST(RunProgram, UsesNoShellAndRunsInTheGivenFolder) {
  const TemporaryFolder folder;
  const auto end =
      run_program({"sh", "-c", "printf %s \"$1\" > file; cat", "sh", "$(a) ; 'b'"}, folder.path());
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->ok) << end->how;
  EXPECT_EQ(end->output, "") << "standard input is empty";
  EXPECT_EQ(read_file(folder.path() / "file"), "$(a) ; 'b'");
}

TEST(RunProgram, ReturnsNulloptForAMissingProgram) {
  const TemporaryFolder folder;
  EXPECT_FALSE(run_program({"no_program_of_this_name"}, folder.path()).has_value());
  EXPECT_PRED2(contains, error_of([&] { run_program({folder.path().string()}, folder.path()); }),
               "cannot start");
}

TEST(RunProgram, SignalsAreNamed) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_program({"sh", "-c", "kill -KILL $$"}, folder.path())->how, "signal 9 (Killed)");
}

TEST(RunProgram, ChildDoesNotInheritIgnoredSigpipe) {
  const TemporaryFolder folder;
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const auto end = run_program({"sh", "-c", "kill -PIPE $$; echo alive"}, folder.path());
  std::signal(SIGPIPE, before);
  EXPECT_PRED2(contains, end->how, "signal 13");
}

TEST(RunProgram, KeepsTheEndOfALongOutput) {
  const TemporaryFolder folder;
  const auto end = run_program({"sh", "-c", "head -c 1000000 /dev/zero; echo end"}, folder.path());
  EXPECT_EQ(end->output.size(), size_t{64} << 10);
  EXPECT_TRUE(end->output.ends_with("end\n"));
}

TEST(TemporaryFolder, IsRemovedWithItsContents) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    std::filesystem::create_directory(path / "deeper");
    write_file(path / "deeper" / "file", "text");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace mega
