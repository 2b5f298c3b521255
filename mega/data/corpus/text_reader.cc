#include "mega/data/corpus/text_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/utf8.h"

namespace mega::data {
TextReader::TextReader(TextRange range, size_t longest)
    : range_(std::move(range)), longest_(longest), buffer_(2 * longest, '\0') {
  require(longest > 0, "a text cannot be read in parts of no bytes");
}

// Leaves the stream where the range has its first byte in it; false where there is no more.
bool TextReader::open_next() {
  while (position_ < range_.end && next_file_ < range_.files.size()) {
    stream_.emplace(range_.files[next_file_++]);
    at_end_ = line_open_ = false;
    begin_ = filled_ = 0;
    while (position_ < range_.begin) {
      const auto missing = static_cast<uint64_t>(range_.begin - position_);
      const size_t count =
          stream_->read_some(std::span(buffer_).first(std::min<uint64_t>(missing, buffer_.size())));
      if (count == 0) break;
      position_ += static_cast<int64_t>(count);
    }
    if (position_ >= range_.begin) return true;
  }
  return false;
}

// Reads on until the buffer has a line end, more than the longest part, or all there is.
void TextReader::fill() {
  size_t searched = begin_;
  while (true) {
    const bool has_line = std::memchr(buffer_.data() + searched, '\n', filled_ - searched) != nullptr;
    if (has_line || filled_ - begin_ > longest_ || at_end_ || position_ >= range_.end) return;
    searched = filled_;
    if (begin_ > 0 && filled_ == buffer_.size()) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
      filled_ -= begin_;
      searched -= std::exchange(begin_, 0);
    }
    const auto wanted =
        std::min<uint64_t>(buffer_.size() - filled_, static_cast<uint64_t>(range_.end - position_));
    const size_t count = stream_->read_some(std::span(buffer_).subspan(filled_, wanted));
    filled_ += count;
    position_ += static_cast<int64_t>(count);
    at_end_ = count == 0;
  }
}

size_t TextReader::cut_of_long_line() const {
  const std::string_view text(buffer_.data() + begin_, longest_ + 1);
  const size_t blank = text.substr(0, longest_).find_last_of(" \t");
  if (blank != std::string_view::npos) return blank + 1;
  size_t cut = longest_;
  while (cut > 1 && longest_ - cut < kLongestCharacter && continues_character(text[cut])) --cut;
  return continues_character(text[cut]) ? longest_ : cut;
}

bool TextReader::next(TextPart& part) {
  while (true) {
    if (!stream_ && !open_next()) return false;
    fill();
    const std::string_view text(buffer_.data() + begin_, filled_ - begin_);
    const size_t newline = text.find('\n');
    const bool whole_line = newline != std::string_view::npos && newline <= longest_;
    if (whole_line || text.size() > longest_) {
      const size_t size = whole_line ? newline : cut_of_long_line();
      part = {text.substr(0, size), whole_line, static_cast<int64_t>(size) + (whole_line ? 1 : 0)};
      begin_ += static_cast<size_t>(part.bytes);
      line_open_ = !whole_line;
      return true;
    }
    // What is left of the file or the range. Whether the file ends with the range, a further byte would tell.
    char more = 0;
    const bool file_ends = at_end_ || stream_->read_some(std::span(&more, 1)) == 0;
    const bool ends_line = file_ends && (line_open_ || !text.empty());
    part = {text, ends_line, static_cast<int64_t>(text.size())};
    begin_ = filled_;
    line_open_ = false;
    stream_.reset();
    if (!text.empty() || ends_line) return true;
  }
}

int64_t count_bytes(const std::vector<std::filesystem::path>& files) {
  std::string buffer(TextReader::kLongestPart, '\0');
  int64_t bytes = 0;
  for (const std::filesystem::path& file : files) {
    InputStream stream(file);
    while (const size_t count = stream.read_some(buffer)) bytes += static_cast<int64_t>(count);
  }
  return bytes;
}

int64_t find_cut(const std::vector<std::filesystem::path>& files, int64_t target, int64_t window) {
  if (target <= 0) return 0;
  // A whole character must be in sight. From the byte before on: if that ends a line, nothing needs to move.
  window = std::max<int64_t>(window, kLongestCharacter - 1);
  TextReader reader({files, target - 1, target + window}, static_cast<size_t>(window) + 1);
  int64_t after_line = 0, after_blank = 0, between_characters = target, position = target - 1;
  for (TextPart part; after_line == 0 && reader.next(part); position += part.bytes) {
    if (part.ends_line) after_line = position + part.bytes;
    const size_t blank = part.text.find_first_of(" \t");
    if (after_blank == 0 && blank != std::string_view::npos)
      after_blank = position + static_cast<int64_t>(blank) + 1;
    size_t begins = 1;
    while (begins < kLongestCharacter && begins < part.text.size() && continues_character(part.text[begins]))
      ++begins;
    if (position < target) between_characters = position + static_cast<int64_t>(begins);
  }
  if (after_line > 0) return after_line;
  return after_blank > 0 ? after_blank : between_characters;
}

}  // namespace mega::data
