// What a report shows of an example: the beginning of a text, a small picture, the outline of a sound or a
// series.
#pragma once

#include "mega/config/recipe/input_options.h"
#include "mega/data/record.h"
#include "mega/report/run_report.h"

namespace mega::data {

// Sets excerpt, facts, series and picture. The row stays small, whatever the size of the example.
void show_input(const Record& record, const InputOptions& input, Report::ExampleRow& row);

}  // namespace mega::data
