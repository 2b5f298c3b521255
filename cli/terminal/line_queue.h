// Lines of a file or pipe that are read while the program works, so that what is there can be answered before
// more comes, and Ctrl-C ends the wait for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "mega/base/files/stream.h"

namespace mega::cli {

class LineQueue {
 public:
  // "-" is standard input. A line longer than `longest` bytes is an Error.
  explicit LineQueue(const std::string& path, size_t longest = file_limit());
  // Does not wait for a pipe that gives nothing: its reader ends with the program.
  ~LineQueue();
  LineQueue(const LineQueue&) = delete;
  LineQueue& operator=(const LineQueue&) = delete;

  // Waits for the next line; nullopt at the end, or after Ctrl-C (cli/terminal/interrupt.h). An Error of the
  // file, also that it cannot be opened, is thrown where the line would have been.
  std::optional<std::string> next();

  // Whether next() will give an answer soon. Files always do; a pipe has to have something within moments.
  bool answers_soon();

 private:
  struct Shared;
  static void read_all(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace mega::cli
