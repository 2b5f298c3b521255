#include "mega/base/files/folder_lock.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;

TEST(FolderLock, IsExclusive) {
  const testing::ScratchFolder folder;
  {
    const FolderLock first(folder / ".");
    EXPECT_PRED2(contains, error_of([&] { FolderLock second(folder / "."); }), "another process");
  }
  EXPECT_NO_THROW(FolderLock again(folder / "."));
}

TEST(FolderLock, RequiresAFolder) {
  const testing::ScratchFolder folder;
  EXPECT_PRED2(contains, error_of([&] { FolderLock lock(folder / "nowhere"); }), "nowhere");
}

}  // namespace
}  // namespace mega
