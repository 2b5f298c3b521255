#include <algorithm>
#include <span>

#include "mega/base/strings.h"
#include "mega/report/html.h"
#include "mega/report/markup.h"
#include "mega/report/report_sections.h"

namespace mega {
namespace {

using html::Cell;

// The example itself, as far as a page can show it.
std::string input_of(const Report::ExampleRow& example) {
  constexpr size_t kLongestExcerpt = 200;
  std::string html;
  if (!example.excerpt.empty())
    html += "<div class=\"excerpt\">" + escape_markup(shortened(example.excerpt, kLongestExcerpt)) + "</div>";
  if (example.picture.valid()) html += picture_markup(example.picture);
  html += to_svg(Sparkline{example.series});
  if (!example.facts.empty()) html += "<div class=\"faint\">" + escape_markup(example.facts) + "</div>";
  return html;
}

}  // namespace

std::string picture_markup(const Thumbnail& picture) {
  constexpr int64_t kSide = 96;
  const Thumbnail small = shrunk(picture, kSide);
  const int64_t scale = kSide / std::max(small.width, small.height);  // small pictures are shown larger
  const auto pixels = [](int64_t count) { return std::to_string(count); };
  return "<img class=\"picture\" alt=\"" + pixels(picture.width) + " × " + pixels(picture.height) +
         " pixels\" width=\"" + pixels(small.width * scale) + "\" height=\"" + pixels(small.height * scale) +
         "\" src=\"" + to_data_uri(small) + "\"/>";
}

std::string examples_section(const std::string& heading, const std::vector<Report::ExampleRow>& examples) {
  if (examples.empty()) return "";
  const auto shown = std::span(examples).first(std::min(examples.size(), kMostReportRows));
  std::vector<std::string> inputs;
  for (const Report::ExampleRow& example : shown) inputs.push_back(input_of(example));
  const bool any_input =
      std::any_of(inputs.begin(), inputs.end(), [](const auto& html) { return !html.empty(); });
  // A regression has none.
  const bool any_probability = std::any_of(
      shown.begin(), shown.end(), [](const Report::ExampleRow& example) { return example.probability != 0; });
  const bool any_length = std::any_of(shown.begin(), shown.end(),
                                      [](const Report::ExampleRow& example) { return example.length != 0; });

  std::vector<html::Column> columns = {{"Where", "where mono"}};
  if (any_input) columns.push_back({"Input", "input"});
  columns.insert(columns.end(), {{"Truth", "name"}, {"Predicted", "name"}});
  if (any_probability) columns.push_back({"Probability", "number"});
  columns.push_back({"Loss", "number"});
  if (any_length) columns.push_back({"Length", "number"});
  html::Rows rows;
  for (size_t i = 0; i < shown.size(); ++i) {
    const Report::ExampleRow& example = shown[i];
    std::vector<Cell>& row = rows.emplace_back();
    row.emplace_back(example.where);
    if (any_input) row.push_back(Cell::markup(inputs[i]));
    row.emplace_back(example.truth);
    row.emplace_back(example.predicted);
    if (any_probability) row.emplace_back(percent_text(example.probability));
    row.emplace_back(metric_text("%.3f", example.loss));
    if (any_length) row.emplace_back(with_thousands(example.length));
  }
  return html::section(heading, html::table(columns, rows, "", html::Narrow::stack));
}

}  // namespace mega
