#include "cli/commands/shard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "mega/base/error.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/strings.h"
#include "mega/data/corpus/standard_input.h"

namespace mega::cli {
namespace {

constexpr const char* kOption = "--shard";

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto [slash, bad_part] = std::from_chars(text.data(), end, shard.part);
  const bool has_parts = bad_part == std::errc() && slash != end && *slash == '/';
  const auto [stop, bad_parts] =
      has_parts ? std::from_chars(slash + 1, end, shard.parts) : std::from_chars_result{nullptr, {}};
  if (stop != end || bad_parts != std::errc() || shard.part < 1 || shard.part > shard.parts)
    throw CLI::ValidationError(kOption, "expected I/N, part I of N, from 1/N to N/N, got " + in_quotes(text));
  return shard;
}

// From now on standard input is a file with what it had.
void keep_standard_input() {
  const TemporaryFolder folder;
  const std::filesystem::path copy = data::copy_standard_input(folder.path());
  const int file = ::open(copy.c_str(), O_RDONLY | O_CLOEXEC);
  require(file >= 0 && ::dup2(file, STDIN_FILENO) >= 0, copy.string(), ": ", std::strerror(errno));
  ::close(file);
}

}  // namespace

InputRange Shard::range(int64_t inputs) const {
  const int64_t each = inputs / parts, more = inputs % parts;  // the first parts have one more
  const auto begin = [&](int64_t before) { return before * each + std::min(before, more); };
  return {begin(part - 1), begin(part)};
}

CLI::Option* add_shard(CLI::App& command, Shard& shard) {
  return command
      .add_option_function<std::string>(
          kOption, [&shard](const std::string& text) { shard = parse_shard(text); },
          "answer part I of N of the inputs, for N processes that share the work: the outputs of 1/N to N/N, "
          "one after the other, are that of the whole")
      ->type_name("I/N");
}

FirstReading::FirstReading(std::span<const std::string> files) {
  for (const std::string& file : files) {
    std::error_code none;
    require(file == "-" || !std::filesystem::is_fifo(file, none), file, ": ", kOption,
            " reads its inputs twice, and this is a pipe: let it be standard input");
    if (file != "-") continue;
    start_ = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (start_ >= 0) continue;
    keep_standard_input();
    start_ = 0;
  }
}

FirstReading::~FirstReading() {
  if (start_ >= 0) ::lseek(STDIN_FILENO, start_, SEEK_SET);
}

}  // namespace mega::cli
