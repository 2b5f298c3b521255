// Lines that were typed before, in this program and in earlier ones.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace mega::cli {

class LineHistory {
 public:
  static constexpr size_t kMostLines = 1000;
  static constexpr size_t kLongestLine = size_t{1} << 16;  // bytes; longer ones are not written to the file

  LineHistory() = default;  // of this program only
  // Reads the file, if there is one, and adds to it. Only its owner may read it.
  explicit LineHistory(std::filesystem::path file);

  // The oldest first.
  const std::vector<std::string>& lines() const { return lines_; }

  // Empty lines, and the same one again, are left out.
  void add(const std::string& line);

  // Why lines are not kept for the next program; empty if they are. History is a convenience: what goes wrong
  // with it is no reason to stop.
  const std::string& problem() const { return problem_; }

 private:
  void read();
  void shorten_file() const;
  void append(const std::string& line) const;

  std::filesystem::path file_;  // empty: none
  std::vector<std::string> lines_;
  std::string problem_;
};

// $XDG_STATE_HOME/mega/history, or ~/.local/state/mega/history; empty if there is no home.
std::filesystem::path history_file();

}  // namespace mega::cli
