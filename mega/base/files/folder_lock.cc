#include "mega/base/files/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mega/base/error.h"

namespace mega {

FolderLock::FolderLock(const std::filesystem::path& folder) {
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  require(descriptor_ >= 0, folder.string(), ": ", std::strerror(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  close(descriptor_);
  fail(folder.string(), ": another process is using this folder");
}

FolderLock::~FolderLock() { close(descriptor_); }

}  // namespace mega
