#include "mega/text/symbol_tokenizer.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/text/symbol_counter.h"
#include "mega/text/symbol_table.h"

namespace mega {
namespace {

constexpr int64_t kMostTypes = int64_t{1} << 30;

struct Characters {
  static constexpr const char* kName = "character";
  static constexpr std::string_view kUnknownText = kReplacement;

  // Calls f with each character; a byte that is none becomes the text of <unk>.
  template <class F>
  static void for_each(std::string_view line, const F& f) {
    while (!line.empty()) {
      const size_t length = utf8_length(line);
      f(length == 0 ? kUnknownText : line.substr(0, length));
      line.remove_prefix(std::max<size_t>(length, 1));
    }
  }

  static std::string text(std::string_view symbol, bool /*begins_line*/) { return std::string(symbol); }
};

struct Words {
  static constexpr const char* kName = "word";
  static constexpr std::string_view kUnknownText = "<unk>";

  static bool is_blank(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }

  // Calls f with each word.
  template <class F>
  static void for_each(std::string_view line, const F& f) {
    const char* const end = line.data() + line.size();
    for (const char* first = line.data(); first != end;) {
      first = std::find_if_not(first, end, is_blank);
      const char* const last = std::find_if(first, end, is_blank);
      if (first != last) f(std::string_view(first, static_cast<size_t>(last - first)));
      first = last;
    }
  }

  static std::string text(std::string_view symbol, bool begins_line) {
    return (begins_line ? "" : " ") + std::string(symbol);
  }
};

// A symbol is what stands alone when it is cut into symbols.
template <class Units>
bool is_symbol(std::string_view text) {
  int64_t others = 0;
  int64_t same = 0;
  Units::for_each(text, [&](std::string_view symbol) { ++(symbol == text ? same : others); });
  return same == 1 && others == 0 && text != Units::kUnknownText;
}

// The number of lines of a vocabulary. Error unless the last one is whole.
size_t count_lines(std::string_view vocabulary, const char* unit, const std::string& where) {
  const auto lines = std::count(vocabulary.begin(), vocabulary.end(), '\n');
  require(lines > 0, where, ": a vocabulary without any ", unit, "; expected one per line");
  require(vocabulary.back() == '\n', where, ":", lines + 1, ": the last line is cut off");
  require(lines <= kMostTypes - kFirstSymbol, where, ": ", with_thousands(lines), " lines; at most ",
          with_thousands(kMostTypes - kFirstSymbol), " can be numbered");
  return static_cast<size_t>(lines);
}

template <class Units>
class SymbolTokenizer final : public Tokenizer {
 public:
  SymbolTokenizer(std::string_view vocabulary, const std::string& where)
      : vocabulary_(vocabulary), table_(count_lines(vocabulary, Units::kName, where)) {
    int32_t line = 0;
    for (std::string_view rest = vocabulary_; !rest.empty();) {
      const std::string_view symbol = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(symbol.size() + 1);
      ++line;
      if (!is_symbol<Units>(symbol))
        fail(where, ":", line, ": expected one ", Units::kName, " (not ", Units::kUnknownText,
             ", which has a number of its own), found ", in_quotes(symbol));
      const int32_t first_line = table_.add(symbol) + 1;
      if (first_line != line)
        fail(where, ":", line, ": the ", Units::kName, " ", in_quotes(symbol), " has been on line ",
             first_line, " already");
    }
  }

  // The symbols are views of the vocabulary.
  SymbolTokenizer(const SymbolTokenizer&) = delete;
  SymbolTokenizer& operator=(const SymbolTokenizer&) = delete;

  int64_t size() const override { return kFirstSymbol + static_cast<int64_t>(table_.size()); }

  void encode_line(std::string_view line, std::vector<Token>& tokens) const override {
    Units::for_each(line, [&](std::string_view symbol) {
      const int32_t number = table_.find(symbol);
      tokens.push_back(number < 0 ? kUnknown : kFirstSymbol + number);
    });
  }

  std::string vocabulary() const override { return vocabulary_; }

 protected:
  std::string symbol_text(Token token, bool begins_line) const override {
    return Units::text(token == kUnknown ? Units::kUnknownText : table_.symbol(token - kFirstSymbol),
                       begins_line);
  }

 private:
  const std::string vocabulary_;
  SymbolTable table_;
};

template <class Units>
class SymbolBuilder final : public TokenizerBuilder {
 public:
  explicit SymbolBuilder(const TokenizerOptions& options)
      : most_types_(options.vocabulary == 0 ? kMostTypes : options.vocabulary),
        min_count_(options.min_count) {
    require(most_types_ > kFirstSymbol, "a vocabulary of ", most_types_, " has no room for any ",
            Units::kName, " beside the ", static_cast<int>(kFirstSymbol),
            " specials; ask for more, or for all with 0");
  }

  void add_line(std::string_view line) override {
    Units::for_each(line, [&](std::string_view symbol) {
      if (symbol != Units::kUnknownText) counter_.add(symbol);
    });
  }

  std::unique_ptr<Tokenizer> finish() override {
    std::string vocabulary;
    for (const std::string_view symbol :
         counter_.frequent(min_count_, static_cast<size_t>(most_types_ - kFirstSymbol))) {
      vocabulary += symbol;
      vocabulary += '\n';
    }
    require(!vocabulary.empty(), "the training text has no ", Units::kName, " that occurs at least ",
            min_count_, " times; it needs more text or a lower min_count");
    return std::make_unique<SymbolTokenizer<Units>>(vocabulary, "the vocabulary of the training text");
  }

 private:
  const int64_t most_types_;
  const int64_t min_count_;
  SymbolCounter counter_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_symbol_tokenizer(TextUnits units, std::string_view vocabulary,
                                                 const std::string& where) {
  if (units == TextUnits::words) return std::make_unique<SymbolTokenizer<Words>>(vocabulary, where);
  return std::make_unique<SymbolTokenizer<Characters>>(vocabulary, where);
}

std::unique_ptr<TokenizerBuilder> make_symbol_builder(const TokenizerOptions& options) {
  if (options.units == TextUnits::words) return std::make_unique<SymbolBuilder<Words>>(options);
  return std::make_unique<SymbolBuilder<Characters>>(options);
}

}  // namespace mega
