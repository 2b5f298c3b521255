#include "mega/base/files/decompress.h"

#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

constexpr size_t kBufferSize = size_t{1} << 18;

// Memory limit of a decoder: a few bytes of a malicious file can request a dictionary of gigabytes.
constexpr int kMemoryLog = 30;
constexpr uint64_t kMemoryLimit = uint64_t{1} << kMemoryLog;

// The raw file, buffered so that a decoder can leave bytes unread.
class RawFile {
 public:
  RawFile(const std::filesystem::path& path, std::string name) : name_(std::move(name)) {
    if (path == "-") {
      descriptor_ = STDIN_FILENO;
    } else {
      descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (descriptor_ < 0) fail(name_, ": cannot open: ", std::strerror(errno));
      owned_ = true;
    }
    buffer_.resize(buffer_size());
  }
  ~RawFile() {
    if (owned_) ::close(descriptor_);
  }
  RawFile(RawFile&& other) noexcept
      : name_(std::move(other.name_)),
        buffer_(std::move(other.buffer_)),
        begin_(other.begin_),
        end_(other.end_),
        descriptor_(other.descriptor_),
        owned_(std::exchange(other.owned_, false)) {}
  RawFile& operator=(RawFile&&) = delete;

  const std::string& name() const { return name_; }

  // The next bytes without consuming them, at least `least` unless the file ends before; empty only at the
  // end.
  std::string_view ahead(size_t least = 1) {
    while (end_ - begin_ < least) {
      std::copy(buffer_.begin() + static_cast<ptrdiff_t>(begin_),
                buffer_.begin() + static_cast<ptrdiff_t>(end_), buffer_.begin());
      end_ -= std::exchange(begin_, 0);
      const size_t count = read(std::span(buffer_).subspan(end_));
      if (count == 0) break;
      end_ += count;
    }
    return std::string_view(buffer_).substr(begin_, end_ - begin_);
  }

  void skip(size_t count) { begin_ += count; }

  // Reads directly from the file if the buffer is empty.
  size_t read_some(std::span<char> into) {
    if (begin_ == end_ && into.size() >= kBufferSize) return read(into);
    const std::string_view bytes = ahead().substr(0, into.size());
    std::copy(bytes.begin(), bytes.end(), into.begin());
    skip(bytes.size());
    return bytes.size();
  }

 private:
  // No more than a file needs: of a folder of small ones, each is opened.
  size_t buffer_size() const {
    constexpr off_t kLeast = 1 << 12, kMost = kBufferSize;
    struct stat status {};
    const bool known = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
    return known ? static_cast<size_t>(std::clamp(status.st_size, kLeast, kMost)) : kBufferSize;
  }

  size_t read(std::span<char> into) {
    while (true) {
      const ssize_t count = ::read(descriptor_, into.data(), into.size());
      if (count >= 0) return static_cast<size_t>(count);
      if (errno == EISDIR) fail(name_, ": is a folder, expected a file");
      if (errno != EINTR) fail(name_, ": cannot read: ", std::strerror(errno));
    }
  }

  std::string name_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;
  int descriptor_ = -1;
  bool owned_ = false;
};

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(RawFile file) : file_(std::move(file)) {}
  size_t read_some(std::span<char> into) override { return file_.read_some(into); }

 private:
  RawFile file_;
};

// Base of the decoders. A step consumes `packed`, which is empty only at the end of the file, and fills
// `into`; if it can do neither, the file is truncated.
class Unpacker : public ByteSource {
 public:
  explicit Unpacker(RawFile file) : file_(std::move(file)) {}

  size_t read_some(std::span<char> into) final {
    constexpr size_t kLargestStep = size_t{1} << 30;  // zlib has 32-bit sizes
    into = into.first(std::min(into.size(), kLargestStep));
    while (true) {
      const std::string_view packed = file_.ahead();
      const Step done = step(packed, into);
      file_.skip(done.taken);
      if (done.given > 0 || done.ended) return done.given;
      if (done.taken > 0) continue;
      if (packed.empty()) fail(file_.name(), ": the file is truncated: its compressed data ends early");
      damaged("the decoder made no progress");
    }
  }

 protected:
  struct Step {
    size_t taken = 0, given = 0;
    bool ended = false;
  };
  virtual Step step(std::string_view packed, std::span<char> into) = 0;

  [[noreturn]] void damaged(const char* reason) const {
    fail(file_.name(), ": the compressed data is damaged (", reason, "); create or download the file again");
  }
  [[noreturn]] void too_large() const {
    fail(file_.name(), ": decompression needs more than the ", human_bytes(kMemoryLimit),
         " allowed; decompress it yourself, or compress it with a smaller window");
  }
  [[noreturn]] void out_of_memory() const { fail(file_.name(), ": not enough memory to decompress"); }

 private:
  RawFile file_;
};

class GzipSource final : public Unpacker {
 public:
  explicit GzipSource(RawFile file) : Unpacker(std::move(file)) {
    if (::inflateInit2(&stream_, MAX_WBITS + 16) != Z_OK) out_of_memory();
  }
  ~GzipSource() override { ::inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

 private:
  Step step(std::string_view packed, std::span<char> into) override {
    if (between_members_) {
      if (packed.empty()) return {.ended = true};
      // Zero padding after the stream, e.g. from a tape.
      if (packed.front() == '\0') return {.taken = std::min(packed.find_first_not_of('\0'), packed.size())};
      ::inflateReset(&stream_);
      between_members_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) out_of_memory();
    if (code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END)
      damaged(stream_.msg != nullptr ? stream_.msg : "not gzip");
    between_members_ = code == Z_STREAM_END;
    return {packed.size() - stream_.avail_in, into.size() - stream_.avail_out};
  }

  z_stream stream_{};
  bool between_members_ = false;
};

class XzSource final : public Unpacker {
 public:
  explicit XzSource(RawFile file) : Unpacker(std::move(file)) {
    if (::lzma_stream_decoder(&stream_, kMemoryLimit, LZMA_CONCATENATED) != LZMA_OK) out_of_memory();
  }
  ~XzSource() override { ::lzma_end(&stream_); }
  XzSource(const XzSource&) = delete;
  XzSource& operator=(const XzSource&) = delete;

 private:
  Step step(std::string_view packed, std::span<char> into) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(packed.data());
    stream_.avail_in = packed.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(into.data());
    stream_.avail_out = into.size();
    const lzma_ret code = ::lzma_code(&stream_, packed.empty() ? LZMA_FINISH : LZMA_RUN);
    if (code == LZMA_MEM_ERROR) out_of_memory();
    if (code == LZMA_MEMLIMIT_ERROR) too_large();
    if (code == LZMA_OPTIONS_ERROR) damaged("an unknown filter");
    if (code != LZMA_OK && code != LZMA_BUF_ERROR && code != LZMA_STREAM_END)
      damaged("xz data or its checksum");
    return {packed.size() - stream_.avail_in, into.size() - stream_.avail_out, code == LZMA_STREAM_END};
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class ZstdSource final : public Unpacker {
 public:
  explicit ZstdSource(RawFile file) : Unpacker(std::move(file)), stream_(::ZSTD_createDStream()) {
    if (stream_ == nullptr) out_of_memory();
    ::ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMemoryLog);
  }

 private:
  Step step(std::string_view packed, std::span<char> into) override {
    if (packed.empty() && between_frames_) return {.ended = true};
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    const size_t code = ::ZSTD_decompressStream(stream_.get(), &out, &in);
    if (::ZSTD_isError(code) != 0) {
      const ZSTD_ErrorCode error = ::ZSTD_getErrorCode(code);
      if (error == ZSTD_error_frameParameter_windowTooLarge) too_large();
      if (error == ZSTD_error_memory_allocation) out_of_memory();
      damaged(::ZSTD_getErrorName(code));
    }
    between_frames_ = code == 0;
    return {in.pos, out.pos};
  }

  struct Free {
    void operator()(ZSTD_DStream* stream) const { ::ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  bool between_frames_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path, const std::string& name) {
  using namespace std::string_view_literals;
  constexpr std::string_view kGzip = "\x1f\x8b\x08"sv;
  constexpr std::string_view kXz = "\xfd\x37zXZ\0"sv;
  constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd"sv;
  constexpr std::string_view kSkippable = "\x2a\x4d\x18"sv;  // after 0x50..0x5f: a frame that pzstd adds

  RawFile file(path, name);
  std::string_view start = file.ahead();
  if (start.empty()) return std::make_unique<PlainSource>(std::move(file));
  // Peek at no more than needed: a line typed at a terminal must not wait for the next one.
  const bool maybe_skippable = (start[0] & 0xf0) == 0x50;
  if (maybe_skippable || start[0] == kGzip[0] || start[0] == kXz[0] || start[0] == kZstd[0])
    start = file.ahead(kXz.size());

  if (start.starts_with(kGzip)) return std::make_unique<GzipSource>(std::move(file));
  if (start.starts_with(kXz)) return std::make_unique<XzSource>(std::move(file));
  if (start.starts_with(kZstd) || (maybe_skippable && start.substr(1).starts_with(kSkippable)))
    return std::make_unique<ZstdSource>(std::move(file));
  return std::make_unique<PlainSource>(std::move(file));
}

}  // namespace mega
