// The sections of a report that have a file of their own. Each is "" without data.
#pragma once

#include <string>
#include <vector>

#include "mega/report/run_report.h"

namespace mega {

inline constexpr size_t kMostReportRows = 100;

// "–" for what is not a number.
std::string metric_text(const char* format, double value);
std::string percent_text(double share);

// Confusion matrix, precision and recall.
std::string classes_section(const Report& report);

// <img> of a picture with a size, shrunk or enlarged.
std::string picture_markup(const Thumbnail& picture);

// Pictures of the classes that are taken for each other.
std::string confused_section(const Report& report);

std::string examples_section(const std::string& heading, const std::vector<Report::ExampleRow>& examples);

std::string configuration_section(const Report& report);

}  // namespace mega
