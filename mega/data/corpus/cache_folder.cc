#include "mega/data/corpus/cache_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mega/base/error.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemedy = "; set MEGA_CACHE to a folder that can be";

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path root() {
  if (const fs::path folder = from_environment("MEGA_CACHE"); !folder.empty()) return folder;
  if (const fs::path folder = from_environment("XDG_CACHE_HOME"); !folder.empty()) return folder / "mega";
  const fs::path home = from_environment("HOME");
  require(!home.empty(),
          "nowhere to keep temporary files: HOME is not set; set MEGA_CACHE to a folder for them");
  return home / ".cache" / "mega";
}

}  // namespace

fs::path cache_folder(const std::string& name) {
  fs::path folder = root() / name;
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, folder.string(), ": cannot be made: ", error.message(), kRemedy);
  return folder;
}

void require_writable(const fs::path& folder) {
  require(::access(folder.c_str(), W_OK | X_OK) == 0, folder.string(),
          ": cannot be written to: ", std::strerror(errno), kRemedy);
}

}  // namespace mega::data
