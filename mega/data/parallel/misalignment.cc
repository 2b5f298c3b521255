#include "mega/data/parallel/misalignment.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"

namespace mega::data {
namespace {

// More lines than this are only counted: their lengths would take memory that nobody expects an error to
// take.
constexpr int64_t kMostLengths = 50'000'000;

struct LineLengths {
  int64_t lines = 0;
  std::vector<uint32_t> bytes;
};

LineLengths measure_lines(const std::filesystem::path& path) {
  LineLengths lengths;
  LineReader reader(path);
  for (std::string line; reader.next(line); ++lengths.lines)
    if (lengths.lines < kMostLengths)
      lengths.bytes.push_back(
          static_cast<uint32_t>(std::min<size_t>(line.size(), std::numeric_limits<uint32_t>::max())));
  return lengths;
}

// How unlikely two lines are translations of each other, by their lengths alone.
double distance(uint32_t one, uint32_t other) {
  return std::abs(std::log((static_cast<double>(one) + 1.0) / (static_cast<double>(other) + 1.0)));
}

}  // namespace

int64_t find_missing_line(const std::vector<uint32_t>& longer, const std::vector<uint32_t>& shorter) {
  // With a gap at line i, lines before i stand at their own number and those from i on at `shift` more. From
  // one i to the next, one line changes sides.
  const size_t shift = longer.size() - shorter.size();
  double cost = 0.0;
  for (size_t i = 0; i < shorter.size(); ++i) cost += distance(longer[i + shift], shorter[i]);
  double best = cost, unshifted = 0.0;
  size_t place = 0;
  for (size_t i = 0; i < shorter.size(); ++i) {
    const double own = distance(longer[i], shorter[i]);
    unshifted += own;
    cost += own - distance(longer[i + shift], shorter[i]);
    if (cost < best) {
      best = cost;
      place = i + 1;
    }
  }
  // By chance, the difference of so many lines is about the square root of their number.
  constexpr double kEvident = 2.0;
  const auto after = static_cast<double>(shorter.size() - place);
  const bool evident = after > 0 && unshifted - best > kEvident * std::sqrt(after);
  return evident ? static_cast<int64_t>(place) : -1;
}

void fail_misaligned(const PairFiles& files) {
  const LineLengths source = measure_lines(files.source), target = measure_lines(files.target);
  const bool source_longer = source.lines > target.lines;
  const LineLengths &longer = source_longer ? source : target, &shorter = source_longer ? target : source;
  int64_t missing = -1;
  if (longer.lines <= kMostLengths && shorter.lines > 0)
    missing = find_missing_line(longer.bytes, shorter.bytes);
  const auto& less = source_longer ? files.target : files.source;
  fail(files.source.string(), " has ", with_thousands(source.lines), " lines and ", files.target.string(),
       " ", with_thousands(target.lines), ": line by line, they cannot be translations of each other",
       missing >= 0 ? "; by their lengths, they part near line " + with_thousands(missing + 1) +
                          ", where lines seem to be missing in " + less.filename().string()
                    : "");
}

}  // namespace mega::data
