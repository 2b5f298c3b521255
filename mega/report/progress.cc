#include "mega/report/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/report/terminal.h"

namespace mega {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kEraseLine = "\r\x1b[K";

// A terminal that can rewrite a line.
bool can_rewrite(std::FILE* file) {
  const char* kind = std::getenv("TERM");
  return is_terminal(file) && kind != nullptr && std::string_view(kind) != "dumb";
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

double share_of(const ProgressState& state) {
  if (state.total <= 0) return 0;
  return std::clamp(static_cast<double>(state.done) / static_cast<double>(state.total), 0.0, 1.0);
}

std::string bar(double share, int64_t width) {
  const auto full = static_cast<int64_t>(share * static_cast<double>(width));
  std::string drawn(static_cast<size_t>(full), '=');
  if (full < width) drawn += '>';
  drawn.resize(static_cast<size_t>(width), ' ');
  return "[" + drawn + "]";
}

// The text after the bar, without the time.
struct Part {
  std::string text;
  size_t rank;  // the part with the highest is left out first
};

std::vector<Part> parts_of(const ProgressState& state, bool on_terminal) {
  const bool known = state.total > 0;
  const int64_t done = std::max<int64_t>(state.done, 0);
  std::vector<Part> parts;
  if (known) {
    // Rounded down, so that 100 % means done.
    std::string percent = std::to_string(static_cast<int>(share_of(state) * 100));
    if (on_terminal) percent.insert(0, 3 - percent.size(), ' ');
    parts.push_back({percent + " %", 0});
  }
  parts.push_back(
      {with_thousands(done) + (known ? "/" + with_thousands(state.total) : "") + " " + state.unit, 2});
  std::vector<std::string> details = state.details;
  if (details.empty() && state.rate > 0) details.push_back(rate_text(state.rate) + " " + state.unit + "/s");
  // The first detail is worth more than the count.
  for (size_t i = 0; i < details.size(); ++i) parts.push_back({on_one_line(details[i]), i == 0 ? 1 : i + 2});
  return parts;
}

std::string time_text(const ProgressState& state) {
  const int64_t done = std::max<int64_t>(state.done, 0);
  if (state.last || state.total <= 0 || done >= state.total) return human_seconds(state.seconds);
  if (!(state.rate > 0)) return "";
  return human_seconds(static_cast<double>(state.total - done) / state.rate) + " left";
}

// The parts below `limit`, and the time.
std::string text_after_bar(const std::vector<Part>& parts, size_t limit, const std::string& time) {
  std::vector<std::string> shown;
  for (const Part& part : parts)
    if (part.rank < limit) shown.push_back(part.text);
  if (!time.empty()) shown.push_back(time);
  return join(shown, "  ");
}

}  // namespace

std::string progress_line(const ProgressState& state, int64_t width) {
  const std::vector<Part> parts = parts_of(state, width > 0);
  const std::string time = time_text(state), title = on_one_line(state.title) + "  ";
  const size_t all = parts.size() + 1;  // above every rank
  if (width == 0) return title + text_after_bar(parts, all, time);

  constexpr int64_t kNarrowestBar = 6;
  constexpr int64_t kWidestBar = 30;
  constexpr int64_t kAroundBar = 4;  // its brackets and the space after it
  const bool known = state.total > 0;
  const auto line = [&](const std::string& before, size_t limit) -> std::string {
    const std::string rest = text_after_bar(parts, limit, time);
    const int64_t room = width - display_width(before) - display_width(rest);
    if (!known) return room >= 0 ? before + rest : "";
    if (room - kAroundBar < kNarrowestBar) return "";
    return before + bar(share_of(state), std::min(room - kAroundBar, kWidestBar)) + "  " + rest;
  };
  for (size_t limit = all + 1; limit-- > 0;)
    if (std::string fits = line(title, limit); !fits.empty()) return fits;
  const int64_t room = width - display_width(time) - (known ? kAroundBar + kNarrowestBar : 0);
  if (room < 0) return std::string(prefix_of_width(title + text_after_bar(parts, all, time), width));
  return line(std::string(prefix_of_width(title, room)), 0);
}

Progress::Progress(std::string title, int64_t total, std::string unit, std::FILE* to)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      to_(to),
      terminal_(can_rewrite(to)),
      start_(Clock::now()),
      last_drawn_(start_) {}

Progress::~Progress() {
  try {
    if (first_ >= 0) draw(true);
  } catch (...) {  // see update()
  }
}

void Progress::update(int64_t done, const std::vector<std::string>& details) noexcept {
  try {
    const Clock::time_point now = Clock::now();
    done_ = done;
    details_ = details;
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
  if (is_quiet()) return;
  try {
    const std::string safe = for_terminal(printable_lines(line), to_, 2);
    const std::string whole = (terminal_ && drawn_ ? kEraseLine : "") + safe + "\n";
    std::fwrite(whole.data(), 1, whole.size(), to_);
    std::fflush(to_);
    if (terminal_ && drawn_) draw(false);
  } catch (...) {  // see update()
  }
}

void Progress::draw(bool last) {
  if (is_quiet()) return;
  const Clock::time_point now = Clock::now();
  ProgressState state{.title = title_, .unit = unit_, .details = details_, .done = done_, .total = total_};
  const double running = duration<double>(now - first_time_).count();
  if (done_ > first_ && running > 0) state.rate = static_cast<double>(done_ - first_) / running;
  state.seconds = duration<double>(now - start_).count();
  state.last = last;
  // One column less: some terminals wrap a line of full width.
  std::string line = terminal_
                         ? kEraseLine + progress_line(state, std::max<int64_t>(terminal_width(to_) - 1, 1))
                         : progress_line(state, 0);
  if (last || !terminal_) line += '\n';
  std::fwrite(line.data(), 1, line.size(), to_);
  std::fflush(to_);
  drawn_ = true;
  last_drawn_ = now;
}

}  // namespace mega
