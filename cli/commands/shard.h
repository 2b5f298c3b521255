// `--shard I/N`: one of N parts of a command's inputs. Parts are consecutive: the outputs of all of them, one
// after the other, are the output for the whole.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace mega::cli {

struct InputRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
  bool has(int64_t input) const { return begin <= input && input < end; }
};

struct Shard {
  int64_t part = 1, parts = 1;

  bool is_whole() const { return parts == 1; }
  // Of so many inputs. Sizes differ by one at most; with more parts than inputs, some have none.
  InputRange range(int64_t inputs) const;
};

CLI::Option* add_shard(CLI::App& command, Shard& shard);

// Inputs are counted before their part is known, and so read twice. This is for the first time: in the end,
// standard input is where it was. A pipe there is copied to a temporary file, which takes its place; among
// the files, a pipe is an Error.
class FirstReading {
 public:
  explicit FirstReading(std::span<const std::string> files);
  ~FirstReading();
  FirstReading(const FirstReading&) = delete;
  FirstReading& operator=(const FirstReading&) = delete;

 private:
  off_t start_ = -1;  // -1: standard input is not read
};

}  // namespace mega::cli
