#include "mega/data/readers/series_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/data/readers/folders.h"

namespace mega::data {

size_t find_name(std::span<const std::string> names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? kNoColumn : static_cast<size_t>(found - names.begin());
}

size_t find_optional_column(const std::string& requested, std::span<const std::string> names, size_t width) {
  if (const size_t found = find_name(names, requested); found != kNoColumn) return found;
  size_t number = 0;
  const char* end = requested.data() + requested.size();
  const auto [stop, error] = std::from_chars(requested.data(), end, number);
  return error == std::errc() && stop == end && number >= 1 && number <= width ? number - 1 : kNoColumn;
}

size_t find_column(const std::string& requested, const char* option, std::span<const std::string> names,
                   size_t width) {
  if (requested.empty()) return kNoColumn;
  if (const size_t found = find_optional_column(requested, names, width); found != kNoColumn) return found;
  std::vector<std::string> known;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 20); ++i) known.push_back(in_quotes(names[i]));
  const std::string meant = nearest(requested, names);
  fail("no column ", in_quotes(requested), " (data.", option, ")",
       names.empty() ? ": there is no header, so give its number, from 1 to " + std::to_string(width)
                     : " among " + join(known, ", ") + (names.size() > 20 ? ", ..." : ""),
       meant.empty() ? "" : "; did you mean " + in_quotes(meant) + "?");
}

bool names_a_time(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "time", "timestamp", "date", "datetime", "t", "step", "timestep", "time_step", "ts"};
  const std::string lower = lower_case(trim(name));
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

std::string trouble_with(std::span<const float> values, int64_t channels) {
  if (values.empty()) return "no values";
  const auto width = static_cast<size_t>(channels);
  if (values.size() % width != 0) {
    return std::to_string(values.size()) + " values cannot be divided into positions of " +
           std::to_string(width) + " channels";
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return "the value at position " + std::to_string(i / width + 1) + ", channel " +
           std::to_string(i % width + 1) + " is " + (std::isnan(values[i]) ? "not a number" : "infinite") +
           "; fill in gaps before training";
  }
  return {};
}

std::string wrong_channels(int64_t channels, const SeriesInput& input) {
  return std::to_string(channels) + (channels == 1 ? " channel" : " channels") + " where input.channels is " +
         std::to_string(input.channels);
}

}  // namespace mega::data
