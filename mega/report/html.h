// Pieces of the HTML of reports: the page and its style, sections, tables, folds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mega::html {

// Text becomes a cell escaped; what is markup already has to say so.
class Cell {
 public:
  Cell(std::string_view text);  // NOLINT(google-explicit-constructor)
  Cell(const std::string& text) : Cell(std::string_view(text)) {}
  Cell(const char* text) : Cell(std::string_view(text)) {}
  static Cell markup(std::string markup);

  const std::string& markup() const { return markup_; }

 private:
  Cell() = default;
  std::string markup_;
};

struct Column {
  std::string name;
  const char* kind;  // CSS class
};

using Rows = std::vector<std::vector<Cell>>;

// What becomes of the rows of a table that is wider than the screen: they scroll, or become one block each.
enum class Narrow { scroll, stack };

std::string table(const std::vector<Column>& columns, const Rows& rows, const std::string& caption = "",
                  Narrow narrow = Narrow::scroll);

// `content` is markup, `heading` and `summary` are text.
std::string section(const std::string& heading, const std::string& content);
std::string fold(const std::string& summary, const std::string& content);
std::string figure(const std::string& svg, const char* kind = "");

// The whole page. It has no scripts and loads nothing, and tells the browser to allow neither.
std::string page(const std::string& title, const std::string& content);

}  // namespace mega::html
