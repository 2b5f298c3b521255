#include "mega/text/bpe_tokenizer.h"

#include <algorithm>
#include <limits>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/text/dictionary.h"
#include "mega/text/subwords/bpe_codes.h"
#include "mega/text/subwords/bpe_learner.h"
#include "mega/text/symbol_counter.h"
#include "mega/text/symbol_table.h"

namespace mega {
namespace {

constexpr int64_t kMostTypes = int64_t{1} << 30;
// Words of more bytes are no words: nothing is learnt from them.
constexpr size_t kLongestWord = 4096;
constexpr std::string_view kUnknownText = "<unk>";

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() + 1);
  return line;
}

// "@@" alone is a word.
bool has_joiner(std::string_view symbol) {
  return symbol.size() > kBpeJoiner.size() && symbol.ends_with(kBpeJoiner);
}

std::string_view without_joiner(std::string_view symbol) {
  return has_joiner(symbol) ? symbol.substr(0, symbol.size() - kBpeJoiner.size()) : symbol;
}

// A vocabulary, cut where its empty line is.
struct Parts {
  Parts(std::string_view vocabulary, const std::string& where) {
    require(vocabulary.ends_with('\n'), where, ": the last line is missing or cut off");
    const size_t end = vocabulary.find("\n\n");
    require(end != std::string_view::npos, where,
            ": expected BPE codes, an empty line and the symbols that they make");
    codes = vocabulary.substr(0, end + 1);
    symbols = vocabulary.substr(end + 2);
    first_line = static_cast<size_t>(std::count(codes.begin(), codes.end(), '\n')) + 2;
  }

  std::string_view codes, symbols;
  size_t first_line;  // of the symbols
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(std::string_view vocabulary, const std::string& where)
      : BpeTokenizer(Parts(vocabulary, where), where) {}

  BpeTokenizer(const BpeTokenizer&) = delete;
  BpeTokenizer& operator=(const BpeTokenizer&) = delete;

  int64_t size() const override { return kFirstSymbol + static_cast<int64_t>(symbols_.size()); }

  void encode_line(std::string_view line, std::vector<Token>& tokens) const override {
    const std::string text = valid_utf8(line);
    std::vector<std::string_view> parts;
    const IsKnownSymbol is_known = [this](std::string_view symbol, bool ends_word) {
      return number(symbol, ends_word) >= 0;
    };
    for_each_bpe_word(text, [&](std::string_view word) {
      if (word == kUnknownText) {
        tokens.push_back(kUnknown);
        return;
      }
      const int32_t whole = number(word, true);
      if (whole >= 0 && stays_whole_[static_cast<size_t>(whole)]) {
        tokens.push_back(kFirstSymbol + whole);
        return;
      }
      parts.clear();
      codes_.segment(word, is_known, parts);
      for (size_t i = 0; i < parts.size(); ++i) {
        const int32_t part = number(parts[i], i + 1 == parts.size());
        tokens.push_back(part < 0 ? kUnknown : kFirstSymbol + part);
      }
    });
  }

  std::string vocabulary() const override { return codes_.text() + "\n" + dictionary_; }

  bool ends_inside_word(Token token) const override {
    return token >= kFirstSymbol && has_joiner(symbols_.symbol(token - kFirstSymbol));
  }

 protected:
  std::string symbol_text(Token token, bool begins_line) const override {
    const std::string_view symbol =
        token == kUnknown ? kUnknownText : without_joiner(symbols_.symbol(token - kFirstSymbol));
    return (begins_line ? "" : " ") + std::string(symbol);
  }

 private:
  BpeTokenizer(const Parts& parts, const std::string& where)
      : codes_(parts.codes, where),
        dictionary_(parts.symbols),
        symbols_(static_cast<size_t>(std::count(dictionary_.begin(), dictionary_.end(), '\n'))) {
    size_t line = parts.first_line;
    for (std::string_view rest = dictionary_; !rest.empty(); ++line) {
      const std::string_view symbol = take_line(rest);
      check_symbol(symbol, where, line);
      const size_t first_line = parts.first_line + static_cast<size_t>(symbols_.add(symbol));
      require(first_line == line, where, ":", line, ": the symbol ", in_quotes(symbol), " has been on line ",
              first_line, " already");
    }
    require(symbols_.size() > 0, where, ": BPE codes without symbols");
    require(std::ssize(dictionary_) < kMostTypes, where, ": a dictionary of ",
            human_bytes(dictionary_.size()), " is too large");
    find_whole_words();
  }

  // Most words of a text are symbols themselves: those that the codes make whole need not be cut.
  void find_whole_words() {
    stays_whole_.resize(symbols_.size());
    std::vector<std::string_view> parts;
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const std::string_view symbol = symbols_.symbol(static_cast<int32_t>(i));
      if (has_joiner(symbol)) continue;
      parts.clear();
      codes_.segment(symbol, parts);
      stays_whole_[i] = parts.size() == 1;
    }
  }

  // -1: not in the dictionary.
  int32_t number(std::string_view symbol, bool ends_word) const {
    if (ends_word) return symbols_.find(symbol);
    std::string joined;
    joined.reserve(symbol.size() + kBpeJoiner.size());
    return symbols_.find((joined += symbol) += kBpeJoiner);
  }

  const BpeCodes codes_;
  const std::string dictionary_;
  SymbolTable symbols_;
  std::vector<bool> stays_whole_;  // by symbol
};

std::string read_codes(const std::string& path) { return BpeCodes(read_file(path), path).text(); }

class BpeBuilder final : public TokenizerBuilder {
 public:
  explicit BpeBuilder(const TokenizerOptions& options)
      : merges_(options.merges),
        most_types_(options.vocabulary == 0 ? kMostTypes : options.vocabulary),
        min_count_(options.min_count),
        codes_(options.model.empty() ? "" : read_codes(options.model)) {
    require(most_types_ > kFirstSymbol, "a vocabulary of ", most_types_,
            " has no room for symbols beside the ", static_cast<int>(kFirstSymbol),
            " specials; ask for more, or for all with 0");
  }

  void add_line(std::string_view line) override {
    for_each_bpe_word(valid_utf8(line), [&](std::string_view word) {
      if (word != kUnknownText) words_.add(word);
    });
  }

  std::unique_ptr<Tokenizer> finish() override {
    const std::vector<CountedWord> words = words_.counts();
    require(!words.empty(), "the training text has no word that BPE codes could be learnt from");
    if (codes_.empty()) {
      std::vector<CountedWord> learnt = words;
      std::erase_if(learnt, [](const CountedWord& word) { return word.first.size() > kLongestWord; });
      codes_ = learn_bpe_codes(learnt, merges_);
    }
    return make_bpe_tokenizer(codes_ + "\n" + symbols_of(words), "the vocabulary of the training text");
  }

 private:
  std::string symbols_of(const std::vector<CountedWord>& words) const {
    const BpeCodes codes(codes_, "the codes of the training text");
    SymbolCounter counter;
    std::vector<std::string_view> parts;
    for (const auto& [word, count] : words) {
      parts.clear();
      codes.segment(word, parts);
      for (size_t i = 0; i + 1 < parts.size(); ++i)
        counter.add(std::string(parts[i]) + std::string(kBpeJoiner), count);
      counter.add(parts.back(), count);
    }
    std::string symbols;
    for (const std::string_view symbol :
         counter.frequent(min_count_, static_cast<size_t>(most_types_ - kFirstSymbol)))
      if (!is_special_name(symbol)) (symbols += symbol) += '\n';
    require(!symbols.empty(), "the training text has no symbol that occurs at least ", min_count_,
            " times; it needs more text or a lower min_count");
    return symbols;
  }

  const int64_t merges_;
  const int64_t most_types_;
  const int64_t min_count_;
  std::string codes_;  // empty: to be learnt
  SymbolCounter words_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(std::string_view vocabulary, const std::string& where) {
  return std::make_unique<BpeTokenizer>(vocabulary, where);
}

std::unique_ptr<Tokenizer> load_bpe_tokenizer(const TokenizerOptions& options) {
  auto tokenizer = make_bpe_tokenizer(read_codes(options.model) + "\n" + read_dictionary(options.dictionary),
                                      options.model + " with " + options.dictionary);
  require(options.vocabulary == 0 || tokenizer->size() <= options.vocabulary, options.dictionary, ": it has ",
          tokenizer->size(), " token types, but input.vocabulary allows ", options.vocabulary,
          "; set input.vocabulary=0");
  return tokenizer;
}

std::unique_ptr<TokenizerBuilder> make_bpe_builder(const TokenizerOptions& options) {
  return std::make_unique<BpeBuilder>(options);
}

}  // namespace mega
