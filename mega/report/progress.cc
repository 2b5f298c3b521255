#include "mega/report/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kEraseLine = "\r\x1b[K";

// A terminal that can rewrite a line.
bool is_terminal(std::FILE* file) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(file)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

int64_t width_of(std::FILE* terminal) {
  constexpr int64_t kUsual = 80;
  winsize size{};
  const bool known = ::ioctl(::fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

std::string rate_text(double value) {
  constexpr double kWhole = 100;  // no decimals from here on
  constexpr double kLargest = 1e18;
  if (!(value >= 0 && value < kLargest)) return "?";
  if (value >= kWhole) return with_thousands(std::llround(value));
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string on_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return printable(text);
}

// The longest prefix of whole characters that fits.
std::string cut(const std::string& text, int64_t width) {
  size_t end = text.size();
  while (end > 0 && display_width(std::string_view(text).substr(0, end)) > width) {
    --end;
    while (end > 0 && continues_character(text[end])) --end;
  }
  return text.substr(0, end);
}

std::string bar(double share, int64_t width) {
  const auto full = static_cast<int64_t>(share * static_cast<double>(width));
  std::string drawn(static_cast<size_t>(full), '=');
  if (full < width) drawn += '>';
  drawn.resize(static_cast<size_t>(width), ' ');
  return "[" + drawn + "]";
}

}  // namespace

std::string progress_line(const ProgressState& state, int64_t width) {
  const bool known = state.total > 0;
  const int64_t done = std::max<int64_t>(state.done, 0);
  const double share =
      known ? std::min(static_cast<double>(done) / static_cast<double>(state.total), 1.0) : 0;

  std::vector<std::string> parts;
  if (known) {
    // Rounded down, so that 100 % means done.
    std::string percent = std::to_string(static_cast<int>(share * 100));
    if (width > 0) percent.insert(0, 3 - percent.size(), ' ');
    parts.push_back(percent + " %");
  }
  parts.push_back(with_thousands(done) + (known ? "/" + with_thousands(state.total) : "") + " " + state.unit);
  if (!state.detail.empty())
    parts.push_back(on_one_line(state.detail));
  else if (state.rate > 0)
    parts.push_back(rate_text(state.rate) + " " + state.unit + "/s");
  if (state.last || !known || done >= state.total)
    parts.push_back(human_seconds(state.seconds));
  else if (state.rate > 0)
    parts.push_back(human_seconds(static_cast<double>(state.total - done) / state.rate) + " left");

  const std::string title = on_one_line(state.title) + "  ";
  const std::string rest = join(parts, "  ");
  if (width == 0) return title + rest;

  constexpr int64_t kNarrowestBar = 6;
  constexpr int64_t kWidestBar = 30;
  constexpr int64_t kAroundBar = 4;  // its brackets and the space after it
  const int64_t room = width - display_width(title) - display_width(rest) - kAroundBar;
  if (known && room >= kNarrowestBar) return title + bar(share, std::min(room, kWidestBar)) + "  " + rest;
  return cut(title + rest, width);
}

Progress::Progress(std::string title, int64_t total, std::string unit, std::FILE* to)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      to_(to),
      terminal_(is_terminal(to)),
      start_(Clock::now()),
      last_drawn_(start_) {}

Progress::~Progress() {
  try {
    if (first_ >= 0) draw(true);
  } catch (...) {  // see update()
  }
}

void Progress::update(int64_t done, const std::string& detail) noexcept {
  try {
    const Clock::time_point now = Clock::now();
    done_ = done;
    detail_ = detail;
    if (first_ < 0) {
      first_ = std::max<int64_t>(done, 0);
      first_time_ = now;
    }
    const auto pause = terminal_ ? milliseconds(100) : seconds(10);
    const bool first_on_terminal = terminal_ && !drawn_;
    if (first_on_terminal || now - last_drawn_ >= pause) draw(false);
  } catch (...) {  // out of memory for a line of text must not end the run
  }
}

void Progress::say(const std::string& line) noexcept {
  try {
    const std::string whole = (terminal_ && drawn_ ? kEraseLine : "") + printable_lines(line) + "\n";
    std::fwrite(whole.data(), 1, whole.size(), to_);
    std::fflush(to_);
    if (terminal_ && drawn_) draw(false);
  } catch (...) {  // see update()
  }
}

void Progress::draw(bool last) {
  const Clock::time_point now = Clock::now();
  ProgressState state{.title = title_, .unit = unit_, .detail = detail_, .done = done_, .total = total_};
  const double running = duration<double>(now - first_time_).count();
  if (done_ > first_ && running > 0) state.rate = static_cast<double>(done_ - first_) / running;
  state.seconds = duration<double>(now - start_).count();
  state.last = last;
  // One column less: some terminals wrap a line of full width.
  std::string line = terminal_ ? kEraseLine + progress_line(state, std::max<int64_t>(width_of(to_) - 1, 1))
                               : progress_line(state, 0);
  if (last || !terminal_) line += '\n';
  std::fwrite(line.data(), 1, line.size(), to_);
  std::fflush(to_);
  drawn_ = true;
  last_drawn_ = now;
}

}  // namespace mega
