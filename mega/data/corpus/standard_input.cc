#include "mega/data/corpus/standard_input.h"

#include <cstdint>
#include <string>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/base/hash.h"
#include "mega/base/strings.h"
#include "mega/data/corpus/cache_folder.h"

namespace mega::data {

namespace fs = std::filesystem;

fs::path copy_standard_input(const fs::path& folder) {
  require_writable(folder);
  const fs::path aside = folder / temporary_name("standard-input", 0);
  InputStream input("-");
  AtomicFile copy(aside);
  std::string buffer(size_t{1} << 20, '\0');
  uint64_t hash = 0;
  while (const size_t count = input.read(buffer)) {
    const std::string_view bytes(buffer.data(), count);
    hash = hash_text(bytes, hash);
    copy.write(bytes);
  }
  copy.commit();

  fs::path kept = folder / ("standard-input-" + hexadecimal(hash) + ".txt");
  std::error_code error;
  if (fs::exists(kept, error)) {  // with tokens that were made from it
    fs::remove(aside, error);
  } else {
    fs::rename(aside, kept, error);
    require(!error, kept.string(), ": cannot be made: ", error.message());
  }
  return kept;
}

}  // namespace mega::data
