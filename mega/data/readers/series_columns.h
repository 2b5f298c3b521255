// What the readers of series share: columns that users choose, and values that are no series.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/data/record_sink.h"

namespace mega::data {

inline constexpr size_t kNoColumn = static_cast<size_t>(-1);

// The place, from 0, of the column of this name; kNoColumn if there is none.
size_t find_name(std::span<const std::string> names, std::string_view name);

// Where the column is that the user chose by its name in the header or its number from 1; kNoColumn if
// nothing was chosen. Error if there is no such column. `option` is for messages: "time_column".
size_t find_column(const std::string& requested, const char* option, std::span<const std::string> names,
                   size_t width);

// The same, but kNoColumn if there is no such column.
size_t find_optional_column(const std::string& requested, std::span<const std::string> names, size_t width);

// Whether a column of this name is likely to hold times: "time", "Timestamp", "date", ...
bool names_a_time(std::string_view name);

// What makes these values no series of so many channels, or nothing.
std::string trouble_with(std::span<const float> values, int64_t channels);

// "2 channels where input.channels is 1".
std::string wrong_channels(int64_t channels, const SeriesInput& input);

// Series in long format, a row per time step: those with the same cell in options.id_column are one series,
// in the order of options.time_column if there is one, or else of the file. The label is in
// options.label_column or the column called "label" or the like, the same in all rows of a series. All other
// columns are channels. Series come in the order of their first rows. Held in memory while it is read.
void read_long_series(const std::filesystem::path& path, const std::string& shown, Split split,
                      const DataOptions& options, const SeriesInput& input, RecordSink& sink,
                      Problems& problems);

}  // namespace mega::data
