#include "cli/help/option_list.h"

#include <algorithm>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/report/terminal.h"

namespace mega::cli {
namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

bool matches(const OptionRow& row, const std::string& filter) {
  return lower(row.key).find(filter) != std::string::npos ||
         lower(row.help).find(filter) != std::string::npos;
}

std::string indented(const std::string& text, const std::string& indent, int64_t width) {
  std::string lines;
  for (const std::string& line : wrap(text, width - std::ssize(indent))) lines += indent + line + "\n";
  return lines;
}

std::string shown(const std::string& value) { return value.empty() ? "\"\"" : value; }

std::string entry(const OptionRow& row, int64_t width) {
  std::string title = row.key + " = " + shown(row.value);
  const bool differs = row.value != row.default_value;
  if (differs) title += "  (default: " + shown(row.default_value) + ")";
  const std::vector<std::string> lines = wrap(title, width - 2);
  std::string text = (differs ? "* " : "  ") + lines.front() + "\n";
  for (size_t i = 1; i < lines.size(); ++i) text += "      " + lines[i] + "\n";
  return text + indented(row.help + (row.type.empty() ? "" : " (" + row.type + ")"), "      ", width);
}

}  // namespace

std::string option_list(const Recipe& recipe, const std::string& filter, int64_t width) {
  std::string text;
  std::vector<std::string> keys;
  for (const OptionRow& row : option_rows(recipe)) {
    if (row.key == "description") continue;
    keys.push_back(row.key);
    if (matches(row, lower(filter))) text += entry(row, width);
  }
  const std::string guess = nearest(filter, keys);
  require(!text.empty(), "--options: no option has ", in_quotes(filter), " in its name or meaning",
          guess.empty() ? "" : "; did you mean " + guess + "?");
  return text;
}

}  // namespace mega::cli
