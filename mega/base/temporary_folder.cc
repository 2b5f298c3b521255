#include "mega/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mega/base/error.h"

namespace mega {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::temp_directory_path(error);
  require(!error, "no folder for temporary files: ", error.message(), "; set TMPDIR to a writable folder");
  std::string name = (root / "mega_XXXXXX").string();
  require(::mkdtemp(name.data()) != nullptr, root.string(),
          ": cannot create a folder in it: ", std::strerror(errno), "; set TMPDIR to a writable folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace mega
