#include "mega/base/files/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

size_t files_in(const ScratchFolder& folder) {
  const std::filesystem::directory_iterator begin(folder.path());
  return static_cast<size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

TEST(File, ReadsWhatWasWritten) {
  const ScratchFolder folder;
  for (const size_t size : {0, 1, 65535, 65536, 300'000}) {
    const std::string text(size, 'x');
    write_file(folder / "file", text);
    EXPECT_EQ(read_file(folder / "file"), text);
  }
}

TEST(File, ErrorsNamePathAndReason) {
  const ScratchFolder folder;
  EXPECT_PRED2(contains, error_of([&] { read_file(folder / "none"); }), "none: cannot open: No such file");
  EXPECT_PRED2(contains, error_of([&] { read_file(folder.path()); }), "is a folder");
  EXPECT_PRED2(contains, error_of([&] { MappedFile mapped(folder / "none"); }), "none: cannot open");
  EXPECT_PRED2(contains, error_of([&] { MappedFile mapped("/dev/null"); }), "not a regular file");
  EXPECT_PRED2(contains, error_of([&] { AtomicFile file(folder / "no/such/file"); }), "No such file");
  EXPECT_PRED2(contains, error_of([&] { AtomicFile file(folder.path()); }), "is a folder");
}

TEST(AtomicFile, LeavesTheOldFileUntilCommitted) {
  const ScratchFolder folder;
  write_file(folder / "file", "old");
  {
    AtomicFile file(folder / "file");
    file.write("half of the n");
    EXPECT_EQ(read_file(folder / "file"), "old");
  }
  EXPECT_EQ(read_file(folder / "file"), "old");
  EXPECT_EQ(files_in(folder), 1u) << "the temporary file must be removed";

  AtomicFile file(folder / "file");
  file.write("ne");
  file.write("w");
  file.commit();
  EXPECT_EQ(read_file(folder / "file"), "new");
  EXPECT_EQ(files_in(folder), 1u);
  EXPECT_THROW(file.write("more"), Error);
  EXPECT_THROW(file.commit(), Error);
}

TEST(AtomicFile, ConcurrentWritersDoNotInterfere) {
  const ScratchFolder folder;
  AtomicFile first(folder / "file");
  AtomicFile second(folder / "file");
  first.write("first");
  second.write("second");
  first.commit();
  second.commit();
  EXPECT_EQ(read_file(folder / "file"), "second");
}

TEST(AtomicFile, LeavesNothingBehindIfRenameFails) {
  const ScratchFolder folder;
  AtomicFile file(folder / "file");
  file.write("text");
  std::filesystem::create_directories(folder / "file");
  std::ofstream(folder / "file/inside") << "keep";
  EXPECT_PRED2(contains, error_of([&] { file.commit(); }), "cannot rename");
  EXPECT_TRUE(std::filesystem::exists(folder / "file/inside"));
}

TEST(MappedFile, MapsTheContents) {
  const ScratchFolder folder;
  write_file(folder / "file", "abc");
  MappedFile mapped(folder / "file");
  MappedFile moved = std::move(mapped);
  ASSERT_EQ(moved.bytes().size(), 3u);
  EXPECT_EQ(moved.bytes()[2], std::byte{'c'});
  write_file(folder / "empty", "");
  moved = MappedFile(folder / "empty");
  EXPECT_TRUE(moved.bytes().empty());
}

TEST(AtomicFile, LeavesAloneWhatIsNoRegularFile) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_PRED2(contains, error_of([&] { write_file(folder / "pipe", "text"); }), "pipe: is a pipe (FIFO)");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));

  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_PRED2(contains, error_of([&] { write_file(folder / "socket", "text"); }), "is a socket");
  EXPECT_TRUE(std::filesystem::is_socket(folder / "socket"));
  ::close(listener);
  EXPECT_EQ(files_in(folder), 2u);
}

TEST(AtomicFile, WritesToDevicesAndOpenDescriptorsAsTheyAre) {
  EXPECT_NO_THROW(write_file("/dev/null", "text"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_PRED2(contains, error_of([] { write_file("/dev/full", "text"); }), "/dev/full: cannot write");

  const ScratchFolder folder;
  write_file(folder / "open", "");
  const int file = ::open((folder / "open").c_str(), O_WRONLY);
  ASSERT_EQ(::write(file, "one ", 4), 4);
  write_file("/dev/fd/" + std::to_string(file), "two ");
  write_file("/proc/self/fd/" + std::to_string(file), "three");
  ::close(file);
  EXPECT_EQ(read_file(folder / "open"), "one two three") << "not replaced, and not from its beginning";
  EXPECT_THROW(write_file("/dev/fd/12345", "text"), Error);
}

TEST(AtomicFile, FollowsSymbolicLinks) {
  const ScratchFolder folder, other;
  write_file(other / "target", "old");
  std::filesystem::create_symlink(other / "target", folder / "link");
  std::filesystem::create_symlink("link", folder / "link to link");
  write_file(folder / "link to link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link to link"));
  EXPECT_EQ(read_file(other / "target"), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(other / "target"));

  std::filesystem::create_symlink(other / "none yet", folder / "dangling");
  write_file(folder / "dangling", "made");
  EXPECT_EQ(read_file(other / "none yet"), "made");
  EXPECT_EQ(files_in(folder), 3u);
  EXPECT_EQ(files_in(other), 2u);

  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_PRED2(contains, error_of([&] { write_file(folder / "loop", "x"); }), "loop");
  ASSERT_EQ(::mkfifo((other / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink(other / "pipe", folder / "to pipe");
  EXPECT_PRED2(contains, error_of([&] { write_file(folder / "to pipe", "x"); }), "is a pipe (FIFO)");
}

TEST(AtomicFile, KeepsThePermissionsOfWhatItReplaces) {
  const ScratchFolder folder;
  write_file(folder / "file", "old");
  for (const mode_t mode : {0600, 0444, 0755}) {
    ASSERT_EQ(::chmod((folder / "file").c_str(), mode), 0);
    write_file(folder / "file", "new");
    struct stat status {};
    ASSERT_EQ(::stat((folder / "file").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
  }
}

// A process that is writing; it can be killed in the middle of it.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& path) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    process_ = ::fork();
    if (process_ == 0) {
      AtomicFile file(path);
      file.write("half");
      (void)!::write(ready[1], "x", 1);
      while (true) ::pause();
    }
    char x = 0;
    EXPECT_EQ(::read(ready[0], &x, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Writer() { kill(); }

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }

 private:
  pid_t process_ = 0;
};

TEST(AtomicFile, RemovesWhatKilledWritersLeft) {
  const ScratchFolder folder;
  Writer killed(folder / "file"), alive(folder / "file"), of_another(folder / "other");
  killed.kill();
  of_another.kill();
  std::ofstream(folder / ".file.x.0.tmp") << "no process";
  std::ofstream(folder / ".file.99999999999.0.tmp") << "no process";
  EXPECT_EQ(files_in(folder), 5u);
  write_file(folder / "file", "whole");
  EXPECT_EQ(files_in(folder), 5u) << "the file is new, what was left of it is gone, the others stay";
  remove_leftovers(folder.path());
  EXPECT_EQ(files_in(folder), 4u);
  alive.kill();
  remove_leftovers(folder.path(), "file");
  EXPECT_EQ(files_in(folder), 3u);
  EXPECT_EQ(read_file(folder / "file"), "whole");
}

// The process of a temporary file may be one of another container.
TEST(AtomicFile, LockedLeftoversStay) {
  const ScratchFolder folder;
  const std::filesystem::path left = folder / ".file.99999999.0.tmp";  // Linux has fewer processes
  std::ofstream(left) << "x";
  const int lock = ::open(left.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  remove_leftovers(folder.path());
  const bool there = std::filesystem::exists(left);
  ::close(lock);
  EXPECT_TRUE(there);
  remove_leftovers(folder.path());
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST(MappedFile, DoesNotWaitForAPipe) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_PRED2(contains, error_of([&] { MappedFile mapped(folder / "pipe"); }), "not a regular file");
  EXPECT_PRED2(contains, error_of([&] { require_regular(folder / "pipe"); }), "pipe: is a pipe (FIFO)");
  EXPECT_PRED2(contains, error_of([] { require_regular("/dev/null"); }), "is a device");
  EXPECT_NO_THROW(require_regular(folder / "nothing"));
  EXPECT_NO_THROW(require_regular(folder.path()));
}

}  // namespace
}  // namespace mega
