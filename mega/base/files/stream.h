// Byte streams: files and standard input, plain or compressed with gzip, xz or zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mega {

class ByteSource;
class ByteSink;

// Most bytes of a file that is held as a whole, and of a line: 1 GiB, or what the environment variable
// MEGA_FILE_LIMIT says, a number of bytes. A few compressed bytes can unpack to any number of them.
size_t file_limit();

// The decompressed bytes of a file; "-" is standard input. Compression is detected by content, not by name. A
// damaged or truncated file is an Error that names it.
class InputStream {
 public:
  explicit InputStream(const std::filesystem::path& path);
  ~InputStream();
  InputStream(InputStream&&) noexcept;
  InputStream& operator=(InputStream&&) noexcept;

  // Fills `into` unless the stream ends before; returns 0 only at the end.
  size_t read(std::span<char> into);

  // Reads at least one byte, but does not wait for a pipe to fill `into`; returns 0 only at the end.
  size_t read_some(std::span<char> into);

  // The path, or "standard input".
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::unique_ptr<ByteSource> source_;
};

// Lines of a stream, without the line ending (\n or \r\n). The last line may lack one.
class LineReader {
 public:
  // A line longer than `longest` bytes is an Error.
  explicit LineReader(const std::filesystem::path& path, size_t longest = file_limit());

  // False at the end.
  bool next(std::string& line);

  int64_t number() const { return number_; }  // of the line read last, from 1
  std::string where() const;                  // "reviews.tsv:17"

 private:
  void read_more();

  InputStream stream_;
  size_t longest_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;  // part of the buffer that was read but not yet returned
  int64_t number_ = 0;
  bool ended_ = false;
};

// The whole of a file or standard input, decompressed, in a string with little spare capacity. More than
// `most` bytes, or than fit into memory, are an Error.
std::string read_stream(const std::filesystem::path& path, size_t most = file_limit());

// An AtomicFile, compressed according to its extension: .gz, .xz, .zst or plain.
class OutputStream {
 public:
  explicit OutputStream(const std::filesystem::path& path);
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  std::unique_ptr<ByteSink> sink_;
};

// "reviews.tsv.gz" -> "reviews.tsv": the path without a compression extension.
std::filesystem::path without_packing(const std::filesystem::path& path);

}  // namespace mega
