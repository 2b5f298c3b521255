#include "mega/data/spool.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mega/base/error.h"

namespace mega::data {
namespace {

constexpr size_t kWrittenAtOnce = size_t{1} << 20;
constexpr const char* kPurpose = " for the examples beyond data.memory: ";
constexpr const char* kRemedy = "; set MEGA_CACHE to a folder with enough space, or raise data.memory";

}  // namespace

Spool::Spool(const std::filesystem::path& folder) : folder_(folder.string()) {
  std::string name = (folder / "examples-XXXXXX").string();
  descriptor_ = ::mkstemp(name.data());
  require(descriptor_ >= 0, folder_, ": cannot make a temporary file", kPurpose, std::strerror(errno),
          kRemedy);
  ::unlink(name.c_str());
}

Spool::~Spool() { ::close(descriptor_); }

int64_t Spool::append(std::string_view bytes) {
  const int64_t place = size();
  unwritten_ += bytes;
  if (unwritten_.size() >= kWrittenAtOnce) write_out();
  return place;
}

void Spool::write_out() {
  for (size_t done = 0; done < unwritten_.size();) {
    const ssize_t count = ::write(descriptor_, unwritten_.data() + done, unwritten_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    require(count >= 0, folder_, ": cannot write to a temporary file", kPurpose, std::strerror(errno),
            kRemedy);
    done += static_cast<size_t>(count);
  }
  written_ += static_cast<int64_t>(unwritten_.size());
  unwritten_.clear();
}

void Spool::read(int64_t place, std::span<char> into) const {
  require(place >= 0 && place <= size() - static_cast<int64_t>(into.size()), folder_,
          ": a temporary file of ", size(), " bytes was asked for ", into.size(), " from ", place, " on");
  if (place >= written_) {
    std::memcpy(into.data(), unwritten_.data() + (place - written_), into.size());
    return;
  }
  for (size_t done = 0; done < into.size();) {
    const ssize_t count = ::pread(descriptor_, into.data() + done, into.size() - done,
                                  static_cast<off_t>(place) + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    require(count > 0, folder_, ": cannot read the temporary file", kPurpose,
            count < 0 ? std::strerror(errno) : "it was cut off");
    done += static_cast<size_t>(count);
  }
}

}  // namespace mega::data
