#include "mega/base/stream.h"

#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/file.h"
#include "mega/base/text.h"

namespace mega {
namespace {

constexpr size_t kBufferSize = size_t{1} << 18;

// What a decoder may take: a few bytes of a hostile file can ask for a dictionary of gigabytes.
constexpr int kMemoryLog = 30;
constexpr uint64_t kMemoryLimit = uint64_t{1} << kMemoryLog;

// The file itself, read a buffer at a time so that a decoder can leave bytes for later.
class RawFile {
 public:
  RawFile(const std::filesystem::path& path, std::string name)
      : name_(std::move(name)), buffer_(kBufferSize, '\0') {
    if (path == "-") {
      descriptor_ = STDIN_FILENO;
    } else {
      descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (descriptor_ < 0) fail(name_, ": cannot open: ", std::strerror(errno));
      owned_ = true;
    }
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

  // The bytes that come next, at least `least` of them unless the file ends before; none at the end only.
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

  // Straight from the file when nothing was looked ahead at.
  size_t read_some(std::span<char> into) {
    if (begin_ == end_ && into.size() >= kBufferSize) return read(into);
    const std::string_view bytes = ahead().substr(0, into.size());
    std::copy(bytes.begin(), bytes.end(), into.begin());
    skip(bytes.size());
    return bytes.size();
  }

 private:
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

}  // namespace

struct InputStream::Source {
  virtual ~Source() = default;
  virtual size_t read_some(std::span<char> into) = 0;
};

struct OutputStream::Sink {
  explicit Sink(const std::filesystem::path& path) : name(path.string()), file(path) {}
  virtual ~Sink() = default;

  // Packs all of the bytes; `last` ends the packed stream.
  virtual void write(std::string_view bytes, bool last) = 0;

  std::string name;
  AtomicFile file;
};

namespace {

class PlainSource : public InputStream::Source {
 public:
  explicit PlainSource(RawFile file) : file_(std::move(file)) {}
  size_t read_some(std::span<char> into) override { return file_.read_some(into); }

 private:
  RawFile file_;
};

// What the decoders have in common. A step takes from `packed`, which is empty only where the file ends, and
// puts into `into`; a decoder that can do neither has met the end of the file too early.
class Unpacker : public InputStream::Source {
 public:
  explicit Unpacker(RawFile file) : file_(std::move(file)) {}

  size_t read_some(std::span<char> into) final {
    constexpr size_t kLargestStep = size_t{1} << 30;  // zlib counts in 32 bits
    into = into.first(std::min(into.size(), kLargestStep));
    while (true) {
      const std::string_view packed = file_.ahead();
      const Step done = step(packed, into);
      file_.skip(done.taken);
      if (done.given > 0 || done.ended) return done.given;
      if (done.taken > 0) continue;
      if (packed.empty()) fail(file_.name(), ": the file is truncated: its packed data stops in the middle");
      damaged("no way forward");
    }
  }

 protected:
  struct Step {
    size_t taken = 0, given = 0;
    bool ended = false;
  };
  virtual Step step(std::string_view packed, std::span<char> into) = 0;

  [[noreturn]] void damaged(const char* reason) const {
    fail(file_.name(), ": the packed data is damaged (", reason, "); make or fetch the file again");
  }
  [[noreturn]] void too_large() const {
    fail(file_.name(), ": unpacking needs more than the ", human_bytes(kMemoryLimit),
         " allowed; unpack it by hand, or pack it with a smaller window");
  }
  [[noreturn]] void out_of_memory() const { fail(file_.name(), ": not enough memory to unpack"); }

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
      // Zeros that fill up a block, of a tape for example.
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

std::unique_ptr<InputStream::Source> open_source(RawFile file) {
  using namespace std::string_view_literals;
  constexpr std::string_view kGzip = "\x1f\x8b\x08"sv;
  constexpr std::string_view kXz = "\xfd\x37zXZ\0"sv;
  constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd"sv;
  constexpr std::string_view kSkippable =
      "\x2a\x4d\x18"sv;  // of zstd, after a byte 0x50..0x5f: pzstd starts so
  std::string_view start = file.ahead();
  if (start.empty()) return std::make_unique<PlainSource>(std::move(file));
  // Not more than needed: a line typed at a terminal should not wait for the next one.
  const bool maybe_skippable = (start[0] & 0xf0) == 0x50;
  if (maybe_skippable || start[0] == kGzip[0] || start[0] == kXz[0] || start[0] == kZstd[0])
    start = file.ahead(kXz.size());

  if (start.starts_with(kGzip)) return std::make_unique<GzipSource>(std::move(file));
  if (start.starts_with(kXz)) return std::make_unique<XzSource>(std::move(file));
  if (start.starts_with(kZstd) || (maybe_skippable && start.substr(1).starts_with(kSkippable)))
    return std::make_unique<ZstdSource>(std::move(file));
  return std::make_unique<PlainSource>(std::move(file));
}

// Gathers small writes: AtomicFile asks the system for each.
class PlainSink final : public OutputStream::Sink {
 public:
  using Sink::Sink;
  void write(std::string_view bytes, bool last) override {
    if (gathered_.size() + bytes.size() > kBufferSize) {
      file.write(gathered_);
      gathered_.clear();
    }
    if (bytes.size() > kBufferSize)
      file.write(bytes);
    else
      gathered_ += bytes;
    if (last) file.write(gathered_);
  }

 private:
  std::string gathered_;
};

class GzipSink final : public OutputStream::Sink {
 public:
  explicit GzipSink(const std::filesystem::path& path) : Sink(path) {
    constexpr int kLevel = 6;
    constexpr int kMemory = 8;
    const int code =
        ::deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS + 16, kMemory, Z_DEFAULT_STRATEGY);
    require(code == Z_OK, name, ": not enough memory to pack");
  }
  ~GzipSink() override { ::deflateEnd(&stream_); }
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;

  void write(std::string_view bytes, bool last) override {
    constexpr size_t kPiece = size_t{1} << 30;  // zlib counts in 32 bits
    do {
      const std::string_view piece = bytes.substr(0, kPiece);
      bytes.remove_prefix(piece.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream_.avail_in = static_cast<uInt>(piece.size());
      const int flush = last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH;
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(packed_.data());
        stream_.avail_out = static_cast<uInt>(packed_.size());
        ::deflate(&stream_, flush);
        file.write(std::string_view(packed_).substr(0, packed_.size() - stream_.avail_out));
      } while (stream_.avail_out == 0);
    } while (!bytes.empty());
  }

 private:
  z_stream stream_{};
  std::string packed_ = std::string(kBufferSize, '\0');
};

class XzSink final : public OutputStream::Sink {
 public:
  explicit XzSink(const std::filesystem::path& path) : Sink(path) {
    constexpr uint32_t kPreset = 6;
    const lzma_ret code = ::lzma_easy_encoder(&stream_, kPreset, LZMA_CHECK_CRC64);
    require(code == LZMA_OK, name, ": not enough memory to pack");
  }
  ~XzSink() override { ::lzma_end(&stream_); }
  XzSink(const XzSink&) = delete;
  XzSink& operator=(const XzSink&) = delete;

  void write(std::string_view bytes, bool last) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
    stream_.avail_in = bytes.size();
    do {
      stream_.next_out = reinterpret_cast<uint8_t*>(packed_.data());
      stream_.avail_out = packed_.size();
      const lzma_ret code = ::lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
      require(code == LZMA_OK || code == LZMA_STREAM_END || code == LZMA_BUF_ERROR, name,
              ": cannot pack as xz");
      file.write(std::string_view(packed_).substr(0, packed_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::string packed_ = std::string(kBufferSize, '\0');
};

class ZstdSink final : public OutputStream::Sink {
 public:
  explicit ZstdSink(const std::filesystem::path& path) : Sink(path), stream_(::ZSTD_createCStream()) {
    require(stream_ != nullptr, name, ": not enough memory to pack");
    ::ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
  }

  void write(std::string_view bytes, bool last) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    size_t left = 0;
    do {
      ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
      left = ::ZSTD_compressStream2(stream_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      require(::ZSTD_isError(left) == 0, name, ": cannot pack as zstd: ", ::ZSTD_getErrorName(left));
      file.write(std::string_view(packed_).substr(0, out.pos));
    } while (last ? left > 0 : in.pos < in.size);
  }

 private:
  struct Free {
    void operator()(ZSTD_CStream* stream) const { ::ZSTD_freeCStream(stream); }
  };
  std::unique_ptr<ZSTD_CStream, Free> stream_;
  std::string packed_ = std::string(kBufferSize, '\0');
};

std::unique_ptr<OutputStream::Sink> open_sink(const std::filesystem::path& path) {
  const std::filesystem::path ending = path.extension();
  if (ending == ".gz") return std::make_unique<GzipSink>(path);
  if (ending == ".xz") return std::make_unique<XzSink>(path);
  if (ending == ".zst") return std::make_unique<ZstdSink>(path);
  return std::make_unique<PlainSink>(path);
}

}  // namespace

InputStream::InputStream(const std::filesystem::path& path)
    : name_(path == "-" ? "standard input" : path.string()), source_(open_source(RawFile(path, name_))) {}
InputStream::~InputStream() = default;
InputStream::InputStream(InputStream&&) noexcept = default;
InputStream& InputStream::operator=(InputStream&&) noexcept = default;

size_t InputStream::read(std::span<char> into) {
  size_t filled = 0;
  while (filled < into.size()) {
    const size_t count = source_->read_some(into.subspan(filled));
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

size_t InputStream::read_some(std::span<char> into) { return into.empty() ? 0 : source_->read_some(into); }

LineReader::LineReader(const std::filesystem::path& path, size_t longest)
    : stream_(path), longest_(longest), buffer_(kBufferSize, '\0') {}

bool LineReader::next(std::string& line) {
  size_t searched = 0;  // bytes of this line that hold no line end
  size_t stop = 0;      // where the next line begins
  while (true) {
    const char* from = buffer_.data() + begin_;
    const void* found = std::memchr(from + searched, '\n', end_ - begin_ - searched);
    searched = found != nullptr ? static_cast<size_t>(static_cast<const char*>(found) - from) : end_ - begin_;
    stop = begin_ + searched + (found != nullptr ? 1 : 0);
    // One byte more than allowed may still be the \r of a line end.
    const bool too_long = searched > longest_ && searched - 1 > longest_;
    if (found != nullptr || ended_ || too_long) break;
    read_more();
  }
  if (stop == begin_) return false;
  ++number_;
  std::string_view text(buffer_.data() + begin_, searched);
  if (stop > begin_ + searched && text.ends_with('\r')) text.remove_suffix(1);
  require(text.size() <= longest_, where(), ": the line is longer than ", human_bytes(longest_),
          ", the most that is read; is this a text file?");
  line.assign(text);
  begin_ = stop;
  return true;
}

void LineReader::read_more() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  // At least half is free for reading, so that a long line is moved a bounded number of times in all.
  if (end_ > buffer_.size() / 2) buffer_.resize(2 * buffer_.size());
  const size_t count = stream_.read_some(std::span(buffer_).subspan(end_));
  end_ += count;
  ended_ = count == 0;
}

std::string LineReader::where() const { return stream_.name() + ":" + std::to_string(number_); }

std::string read_stream(const std::filesystem::path& path, size_t most) {
  InputStream stream(path);
  std::string content;
  size_t filled = 0;
  while (true) {
    content.resize(filled + std::max(filled, kBufferSize));
    const size_t wanted = content.size() - filled;
    const size_t count = stream.read(std::span(content).subspan(filled));
    filled += count;
    require(filled <= most, stream.name(), ": holds more than ", human_bytes(most),
            ", the most that is read");
    if (count < wanted) break;
  }
  content.resize(filled);
  return content;
}

OutputStream::OutputStream(const std::filesystem::path& path) : sink_(open_sink(path)) {}
OutputStream::~OutputStream() = default;

void OutputStream::write(std::string_view bytes) {
  require(sink_ != nullptr, "a file was written to after it was committed");
  if (!bytes.empty()) sink_->write(bytes, false);
}

void OutputStream::commit() {
  require(sink_ != nullptr, "a file was committed twice");
  sink_->write({}, true);
  sink_->file.commit();
  sink_.reset();
}

std::filesystem::path without_packing(const std::filesystem::path& path) {
  const std::filesystem::path ending = path.extension();
  if (ending != ".gz" && ending != ".xz" && ending != ".zst") return path;
  return path.parent_path() / path.stem();
}

}  // namespace mega
