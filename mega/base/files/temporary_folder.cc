#include "mega/base/files/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "mega/base/error.h"

namespace mega {
namespace {

constexpr std::string_view kPrefix = "mega_";

// The process of a name like mega_4711_Ab3dEf; 0 if it is something else.
pid_t process_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  pid_t process = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  const bool ours = error == std::errc() && stop != name.data() + name.size() && *stop == '_';
  return ours && process > 0 ? process : 0;
}

// Whether a killed process of this user left it. A process may be gone here and alive in another container:
// its lock says so.
bool is_abandoned(const std::filesystem::path& folder, pid_t process) {
  if (::kill(process, 0) == 0 || errno != ESRCH) return false;
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat status {};
  const bool own = ::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid();
  const bool abandoned = own && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return abandoned;
}

void remove_abandoned(const std::filesystem::path& root) {
  std::error_code ignored;  // tidying up must not stop anybody
  for (std::filesystem::directory_iterator entry(root, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const pid_t process = process_of(entry->path().filename().native());
    if (process > 0 && is_abandoned(entry->path(), process)) {
      std::error_code also_ignored;
      std::filesystem::remove_all(entry->path(), also_ignored);
    }
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::temp_directory_path(error);
  require(!error, "no folder for temporary files: ", error.message(), "; set TMPDIR to a writable folder");
  remove_abandoned(root);
  std::string name = (root / kPrefix).string() + std::to_string(::getpid()) + "_XXXXXX";
  require(::mkdtemp(name.data()) != nullptr, root.string(),
          ": cannot create a folder in it: ", std::strerror(errno), "; set TMPDIR to a writable folder");
  path_ = name;
  lock_ = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace mega
