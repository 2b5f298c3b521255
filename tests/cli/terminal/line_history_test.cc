#include "cli/terminal/line_history.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::ScratchFolder;
using Strings = std::vector<std::string>;

fs::perms permissions(const fs::path& path) { return fs::status(path).permissions(); }
constexpr fs::perms kOwnerOnly = fs::perms::owner_read | fs::perms::owner_write;

TEST(LineHistory, LinesComeBack) {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "state" / "mega" / "history";
  {
    LineHistory history(file);
    EXPECT_EQ(history.problem(), "");
    for (const char* line : {"one", "", "two\nlines", "two\nlines", "back\\slash \\n", "one"})
      history.add(line);
    EXPECT_EQ(history.lines(), (Strings{"one", "two\nlines", "back\\slash \\n", "one"}));
  }
  LineHistory again(file);
  EXPECT_EQ(again.lines(), (Strings{"one", "two\nlines", "back\\slash \\n", "one"}));
  EXPECT_EQ(permissions(file), kOwnerOnly);

  // Two programs at once.
  LineHistory other(file);
  again.add("mine");
  other.add("other's");
  EXPECT_EQ(LineHistory(file).lines().size(), 6u);
}

TEST(LineHistory, IsBounded) {
  const ScratchFolder folder;
  const fs::path file = folder / "history";
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "line " + std::to_string(i) + "\n";
  write_file(file, text);
  fs::permissions(file, fs::perms::all);
  LineHistory history(file);
  ASSERT_EQ(history.lines().size(), LineHistory::kMostLines);
  EXPECT_EQ(history.lines().back(), "line 4999");
  EXPECT_LT(fs::file_size(file), text.size() / 4);
  EXPECT_EQ(permissions(file), kOwnerOnly);
  history.add("new");
  EXPECT_EQ(history.lines().size(), LineHistory::kMostLines);
  EXPECT_EQ(history.lines().back(), "new");

  // Long lines are for this program only.
  const auto size = fs::file_size(file);
  history.add(std::string(LineHistory::kLongestLine + 1, 'x'));
  EXPECT_EQ(fs::file_size(file), size);

  write_file(file, std::string(3 << 20, 'x') + "\nlast\n");
  EXPECT_EQ(LineHistory(file).lines(), Strings{"last"});
  EXPECT_LT(fs::file_size(file), 100u);
}

TEST(LineHistory, WhatIsNotTextIsNotShown) {
  const ScratchFolder folder;
  const fs::path file = folder / "history";
  write_file(file, "good\n\x1b[2J\n\xff\xfe\n\xc2\x9b\n\\x\nno newline");
  EXPECT_EQ(LineHistory(file).lines(), (Strings{"good", "x"}));
}

TEST(LineHistory, WorksWithoutAFile) {
  const ScratchFolder folder;
  LineHistory none{fs::path()};
  none.add("one");
  EXPECT_EQ(none.lines(), Strings{"one"});
  EXPECT_EQ(none.problem(), "");

  const fs::path pipe = folder / "pipe", taken = folder / "taken";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  write_file(taken, "");
  for (const fs::path& file : {pipe, folder.path(), taken / "history", fs::path("/dev/null")}) {
    LineHistory history(file);
    EXPECT_NE(history.problem(), "") << file;
    history.add("one");
    EXPECT_EQ(history.lines(), Strings{"one"});
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(LineHistory, ItsPlace) {
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  ::unsetenv("XDG_STATE_HOME");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(history_file(), "/home/me/.local/state/mega/history");
  ::setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(history_file(), "/state/mega/history");
  ::setenv("XDG_STATE_HOME", "not/absolute", 1);
  EXPECT_EQ(history_file(), "/home/me/.local/state/mega/history");
  ::unsetenv("HOME");
  EXPECT_EQ(history_file(), "");
  ::unsetenv("XDG_STATE_HOME");
  ::setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace mega::cli
