#include "mega/text/dictionary.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega {
namespace {

constexpr std::array<std::string_view, 4> kSpecials = {"<s>", "<pad>", "</s>", "<unk>"};

// May stand behind a count; it allows a symbol to replace an earlier one, which check_symbol and vocabularies
// refuse where it really does.
constexpr std::string_view kOverwrite = " #fairseq:overwrite";

}  // namespace

bool is_special_name(std::string_view symbol) {
  return std::find(kSpecials.begin(), kSpecials.end(), symbol) != kSpecials.end();
}

void check_symbol(std::string_view symbol, const std::string& where, size_t line) {
  const bool is_symbol = !symbol.empty() && symbol.find_first_of(" \r") == std::string_view::npos &&
                         valid_utf8(symbol) == symbol;
  require(is_symbol, where, ":", line, ": expected a symbol: UTF-8 without blanks, found ",
          in_quotes(symbol));
  require(!is_special_name(symbol), where, ":", line, ": ", symbol,
          " has a number of its own and cannot be a symbol");
}

bool is_filling(std::string_view symbol) { return symbol.starts_with("madeupword"); }

std::vector<std::string> lines_of(std::string_view vocabulary) {
  std::vector<std::string> lines = split(vocabulary, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string read_dictionary(const std::string& path) {
  const std::string text = read_file(path);
  std::string symbols;
  size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++number;
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (line.ends_with(kOverwrite)) line.remove_suffix(kOverwrite.size());
    const size_t blank = line.rfind(' ');
    const std::string_view count = blank == std::string_view::npos ? "" : line.substr(blank + 1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), value);
    require(error == std::errc() && end == count.data() + count.size() && value >= 0, path, ":", number,
            ": expected a symbol, a blank and its count, found ", in_quotes(line));
    check_symbol(line.substr(0, blank), path, number);
    (symbols += line.substr(0, blank)) += '\n';
  }
  require(!symbols.empty(), path, ": a dictionary without symbols");
  return symbols;
}

}  // namespace mega
