#include "mega/base/file.h"

#include <gtest/gtest.h>

#include <fstream>

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

}  // namespace
}  // namespace mega
