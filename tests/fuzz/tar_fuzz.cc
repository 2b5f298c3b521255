// Any bytes as a tar archive of pictures: members inside the file, and pictures or problems.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "mega/base/error.h"
#include "mega/data/formats/tar_file.h"
#include "mega/data/readers/readers.h"
#include "tests/data/records.h"
#include "tests/fuzz/scratch_file.h"

using namespace mega;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const testing::ScratchFile file(".tar");
  const auto& path = file.write({bytes, size});
  try {
    const data::TarFile tar(path);
    for (const data::TarMember& member : tar.members())
      if (member.offset < 0 || member.size < 0 || member.offset + member.size > static_cast<int64_t>(size))
        std::abort();
  } catch (const Error&) {
  }
  try {
    data::Problems problems(true);
    testing::collect(data::read_tar, path, {}, problems);
  } catch (const Error&) {
  }
  return 0;
}
