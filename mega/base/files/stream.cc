#include "mega/base/files/stream.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/compress.h"
#include "mega/base/files/decompress.h"
#include "mega/base/strings.h"

namespace mega {
namespace {

constexpr size_t kBufferSize = size_t{1} << 18;
constexpr const char* kFileLimit = "MEGA_FILE_LIMIT";

std::string limit_and_remedy(size_t limit) {
  const std::string text = human_bytes(limit) + ", the limit";
  return limit == file_limit() ? text + " (set MEGA_FILE_LIMIT to a larger number of bytes to raise it)"
                               : text;
}

[[noreturn]] void fail_without_memory(const std::string& where, size_t bytes) {
  fail(where, ": not enough memory for the more than ", human_bytes(bytes), " that have to be held of it");
}

// The whole of a stream. Small files are many, so that the buffer begins small.
std::string read_all(InputStream& stream, size_t most) {
  constexpr size_t kFirst = size_t{1} << 12;
  std::string content;
  size_t filled = 0;
  try {
    while (true) {
      content.resize(std::max(2 * filled, kFirst));
      const size_t wanted = content.size() - filled;
      const size_t count = stream.read(std::span(content).subspan(filled));
      filled += count;
      require(filled <= most, stream.name(), ": has more than ", limit_and_remedy(most));
      if (count < wanted) break;
    }
    content.resize(filled);
    if (content.capacity() / 2 >= filled) content.shrink_to_fit();
  } catch (const std::bad_alloc&) {
    fail_without_memory(stream.name(), filled);
  } catch (const std::length_error&) {
    fail_without_memory(stream.name(), filled);
  }
  return content;
}

}  // namespace

size_t file_limit() {
  constexpr size_t kUsual = size_t{1} << 30;
  const char* text = std::getenv(kFileLimit);
  if (text == nullptr || *text == '\0') return kUsual;
  size_t limit = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, limit);
  require(error == std::errc() && stop == end && limit > 0, kFileLimit, ": expected a number of bytes, got ",
          in_quotes(text));
  return limit;
}

InputStream::InputStream(const std::filesystem::path& path)
    : name_(path == "-" ? "standard input" : path.string()), source_(open_source(path, name_)) {}
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
  size_t searched = 0;  // bytes of this line known to contain no line end
  size_t stop = 0;      // where the next line begins
  while (true) {
    const char* from = buffer_.data() + begin_;
    const void* found = std::memchr(from + searched, '\n', end_ - begin_ - searched);
    searched = found != nullptr ? static_cast<size_t>(static_cast<const char*>(found) - from) : end_ - begin_;
    stop = begin_ + searched + (found != nullptr ? 1 : 0);
    // One byte more than allowed may be the \r of a line end.
    const bool too_long = searched > 0 && searched - 1 > longest_;
    if (found != nullptr || ended_ || too_long) break;
    read_more();
  }
  if (stop == begin_) return false;
  ++number_;
  std::string_view text(buffer_.data() + begin_, searched);
  if (stop > begin_ + searched && text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() > longest_)
    fail(where(), ": the line is longer than ", limit_and_remedy(longest_), "; is this a text file?");
  line.assign(text);
  begin_ = stop;
  return true;
}

void LineReader::read_more() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  // Keep at least half free, so that a long line is moved a bounded number of times.
  try {
    if (end_ > buffer_.size() / 2) buffer_.resize(2 * buffer_.size());
  } catch (const std::bad_alloc&) {
    fail_without_memory(stream_.name() + ":" + std::to_string(number_ + 1), end_);
  }
  const size_t count = stream_.read_some(std::span(buffer_).subspan(end_));
  end_ += count;
  ended_ = count == 0;
}

std::string LineReader::where() const { return stream_.name() + ":" + std::to_string(number_); }

std::string read_stream(const std::filesystem::path& path, size_t most) {
  InputStream stream(path);
  return read_all(stream, most);
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
  sink_->commit();
  sink_.reset();
}

std::filesystem::path without_packing(const std::filesystem::path& path) {
  return says_packed(path.extension()) ? path.parent_path() / path.stem() : path;
}

}  // namespace mega
