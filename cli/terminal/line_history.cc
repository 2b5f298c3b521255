#include "cli/terminal/line_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFileBytes = size_t{1} << 20;
constexpr mode_t kOwnerOnly = 0600;

// An open file that is closed at the end. What is not a regular file is an Error: a FIFO would wait for ever.
class OwnFile {
 public:
  OwnFile(const fs::path& path, int flags)
      : path_(path), descriptor_(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC, kOwnerOnly)) {
    require(descriptor_ >= 0, path_.string(), ": cannot open: ", std::strerror(errno));
    struct stat about {};
    const bool regular = ::fstat(descriptor_, &about) == 0 && S_ISREG(about.st_mode);
    if (!regular) ::close(descriptor_);
    require(regular, path_.string(), ": is not a regular file");
    size_ = static_cast<size_t>(about.st_size);
    if ((about.st_mode & 07777) != kOwnerOnly) ::fchmod(descriptor_, kOwnerOnly);
  }
  ~OwnFile() { ::close(descriptor_); }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  size_t size() const { return size_; }

  // Its last bytes, at most so many.
  std::string read_end(size_t most) const {
    std::string text(std::min(size_, most), '\0');
    const ssize_t count =
        ::pread(descriptor_, text.data(), text.size(), static_cast<off_t>(size_ - text.size()));
    require(count >= 0, path_.string(), ": cannot read: ", std::strerror(errno));
    text.resize(static_cast<size_t>(count));
    return text;
  }

  // At once, so that the lines of two programs do not mix.
  void write(std::string_view text) const {
    const ssize_t count = ::write(descriptor_, text.data(), text.size());
    require(count == static_cast<ssize_t>(text.size()), path_.string(),
            ": cannot write: ", count < 0 ? std::strerror(errno) : "no space");
  }

 private:
  fs::path path_;
  int descriptor_;
  size_t size_ = 0;
};

// A line of the file; a pasted one may have line breaks.
std::string escaped(std::string_view line) {
  std::string text;
  for (const char byte : line) {
    if (byte == '\\')
      text += "\\\\";
    else if (byte == '\n')
      text += "\\n";
    else
      text += byte;
  }
  return text + "\n";
}

std::string unescaped(std::string_view text) {
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (escape) ++i;
    line += escape && text[i] == 'n' ? '\n' : text[i];
  }
  return line;
}

// The file may have been written by anything: a line is shown on the terminal.
bool is_text(std::string_view line) {
  std::string plain;
  for (const char byte : line)
    if (byte != '\n' && byte != '\t') plain += byte;
  return printable(plain) == plain;
}

}  // namespace

fs::path history_file() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && fs::path(state).is_absolute())
    return fs::path(state) / "mega" / "history";
  if (const char* home = std::getenv("HOME"); home != nullptr && fs::path(home).is_absolute())
    return fs::path(home) / ".local" / "state" / "mega" / "history";
  return {};
}

LineHistory::LineHistory(fs::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  try {
    fs::create_directories(file_.parent_path());
    read();
  } catch (const std::exception& problem) {
    problem_ = problem.what();
  }
}

void LineHistory::read() {
  const OwnFile file(file_, O_RDWR | O_CREAT);
  const std::string text = file.read_end(kMostFileBytes);
  std::vector<std::string> stored = split(text, '\n');
  stored.pop_back();                                                               // behind the last newline
  if (file.size() > text.size() && !stored.empty()) stored.erase(stored.begin());  // half a line
  const size_t first = stored.size() - std::min(stored.size(), kMostLines);
  for (const std::string& line : std::span(stored).subspan(first))
    if (std::string plain = unescaped(line); !plain.empty() && is_text(plain))
      lines_.push_back(std::move(plain));
  if (stored.size() > 2 * kMostLines || file.size() > kMostFileBytes) shorten_file();
}

void LineHistory::shorten_file() const {
  const fs::path aside = file_.string() + "." + std::to_string(::getpid());
  std::string text;
  for (const std::string& line : lines_) text += escaped(line);
  OwnFile(aside, O_WRONLY | O_CREAT | O_TRUNC).write(text);
  fs::rename(aside, file_);
}

void LineHistory::append(const std::string& line) const {
  OwnFile(file_, O_WRONLY | O_APPEND | O_CREAT).write(escaped(line));
}

void LineHistory::add(const std::string& line) {
  if (line.empty() || (!lines_.empty() && lines_.back() == line)) return;
  lines_.push_back(line);
  if (lines_.size() > kMostLines) lines_.erase(lines_.begin());
  if (file_.empty() || !problem_.empty() || line.size() > kLongestLine) return;
  try {
    append(line);
  } catch (const std::exception& problem) {
    problem_ = problem.what();
  }
}

}  // namespace mega::cli
