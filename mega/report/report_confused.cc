#include <algorithm>

#include "mega/base/strings.h"
#include "mega/report/html.h"
#include "mega/report/markup.h"
#include "mega/report/report_sections.h"

namespace mega {
namespace {

constexpr size_t kLongestName = 60;

// A picture above its place and what the model gave for the wrong class.
std::string card_of(const Report::ExampleRow& example) {
  return "<figure>" + picture_markup(example.picture) + "<figcaption class=\"where mono\">" +
         escape_markup(shortened(example.where, kLongestName)) + "</figcaption><div class=\"faint\">" +
         escape_markup(percent_text(example.probability)) + "</div></figure>";
}

std::string pair_of(const Report::ConfusedClasses& pair) {
  std::string cards;
  for (const Report::ExampleRow& example : pair.examples)
    if (example.picture.valid()) cards += card_of(example);
  if (cards.empty()) return "";
  return "<h3>" + escape_markup(shortened(pair.truth, kLongestName)) + " taken for " +
         escape_markup(shortened(pair.predicted, kLongestName)) + ": " + with_thousands(pair.count) +
         (pair.count == 1 ? " picture, " : " pictures, ") + percent_text(pair.share) +
         " of the class</h3>\n<div class=\"gallery\">" + cards + "</div>\n";
}

}  // namespace

std::string confused_section(const Report& report) {
  std::string pairs;
  for (const Report::ConfusedClasses& pair : report.confused) pairs += pair_of(pair);
  return pairs.empty() ? "" : html::section("Most confused", pairs);
}

}  // namespace mega
