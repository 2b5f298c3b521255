#include "mega/base/files/compress.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>

#include "mega/base/error.h"

namespace mega {
namespace {

constexpr size_t kBufferSize = size_t{1} << 18;

// Buffers small writes: AtomicFile makes a system call for each.
class PlainSink final : public ByteSink {
 public:
  using ByteSink::ByteSink;
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

class GzipSink final : public ByteSink {
 public:
  explicit GzipSink(const std::filesystem::path& path) : ByteSink(path) {
    constexpr int kLevel = 6;
    constexpr int kMemory = 8;
    const int code =
        ::deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS + 16, kMemory, Z_DEFAULT_STRATEGY);
    require(code == Z_OK, name, ": not enough memory to compress");
  }
  ~GzipSink() override { ::deflateEnd(&stream_); }
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;

  void write(std::string_view bytes, bool last) override {
    constexpr size_t kPiece = size_t{1} << 30;  // zlib has 32-bit sizes
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

class XzSink final : public ByteSink {
 public:
  explicit XzSink(const std::filesystem::path& path) : ByteSink(path) {
    constexpr uint32_t kPreset = 6;
    const lzma_ret code = ::lzma_easy_encoder(&stream_, kPreset, LZMA_CHECK_CRC64);
    require(code == LZMA_OK, name, ": not enough memory to compress");
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
              ": xz compression failed");
      file.write(std::string_view(packed_).substr(0, packed_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::string packed_ = std::string(kBufferSize, '\0');
};

class ZstdSink final : public ByteSink {
 public:
  explicit ZstdSink(const std::filesystem::path& path) : ByteSink(path), stream_(::ZSTD_createCStream()) {
    require(stream_ != nullptr, name, ": not enough memory to compress");
    ::ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
  }

  void write(std::string_view bytes, bool last) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    size_t left = 0;
    do {
      ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
      left = ::ZSTD_compressStream2(stream_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      require(::ZSTD_isError(left) == 0, name, ": zstd compression failed: ", ::ZSTD_getErrorName(left));
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

}  // namespace

std::unique_ptr<ByteSink> open_sink(const std::filesystem::path& path) {
  const std::filesystem::path ending = path.extension();
  if (ending == ".gz") return std::make_unique<GzipSink>(path);
  if (ending == ".xz") return std::make_unique<XzSink>(path);
  if (ending == ".zst") return std::make_unique<ZstdSink>(path);
  return std::make_unique<PlainSink>(path);
}

bool says_packed(const std::filesystem::path& ending) {
  return ending == ".gz" || ending == ".xz" || ending == ".zst";
}

}  // namespace mega
