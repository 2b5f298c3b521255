#include "mega/infer/translation/text_translator.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/infer/translation/alignment.h"
#include "mega/infer/translation/beam_search.h"

namespace mega::infer {
namespace {

// Lines are read ahead for so many batches, so that those of a batch are equally long, and for so many bytes.
constexpr int64_t kBatchesAhead = 8;
constexpr size_t kBytesAhead = size_t{1} << 22;
constexpr int kPartBits = 20;  // of the number of a sentence: its place in the line

struct Stopped {};

// A decoder that stops in the middle of a search when it is told to.
class StoppableDecoder : public StepDecoder {
 public:
  StoppableDecoder(StepDecoder& decoder, const std::function<bool()>& go_on)
      : decoder_(decoder), go_on_(go_on) {}

  int64_t vocabulary() const override { return decoder_.vocabulary(); }
  int64_t max_positions() const override { return decoder_.max_positions(); }
  void begin(std::span<const std::vector<Token>> sources) override {
    check();
    decoder_.begin(sources);
  }
  bool restrict(std::span<const Token> tokens) override { return decoder_.restrict(tokens); }
  std::span<const float> step(std::span<const int64_t> parents, std::span<const Token> tokens) override {
    check();
    return decoder_.step(parents, tokens);
  }
  std::span<const float> alignment(int64_t row) const override { return decoder_.alignment(row); }

 private:
  void check() const {
    if (go_on_ && !go_on_()) throw Stopped();
  }

  StepDecoder& decoder_;
  const std::function<bool()>& go_on_;
};

// The number of the word, between blanks, that each token begins in or goes on with.
std::vector<int64_t> word_numbers(const Tokenizer& tokenizer, std::span<const Token> tokens) {
  std::vector<int64_t> words;
  int64_t word = -1;
  bool in_word = false, inside = true;
  for (const Token token : tokens) {
    int64_t own = -1;
    for (const char c : tokenizer.text(token, inside)) {
      const bool blank = c == ' ';
      if (!blank && !in_word) ++word;
      if (!blank && own < 0) own = word;
      in_word = !blank;
    }
    words.push_back(std::max<int64_t>(own >= 0 ? own : word, 0));
    inside = tokenizer.ends_inside_word(token);
  }
  return words;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words = split(text, ' ');
  std::erase(words, "");
  return words;
}

void append_with_blank(std::string& text, std::string_view more) {
  if (!text.empty() && !more.empty()) text += ' ';
  text += more;
}

// The source word of each target word, -1 if there is none.
std::vector<int64_t> align_words(std::span<const int64_t> aligned, std::span<const int64_t> source_words,
                                 std::span<const int64_t> target_words) {
  std::vector<int64_t> words;
  for (size_t i = 0; i < target_words.size(); ++i) {
    if (target_words[i] < std::ssize(words)) continue;
    const auto from = static_cast<size_t>(i < aligned.size() ? aligned[i] : -1);
    words.push_back(from < source_words.size() ? source_words[from] : -1);
  }
  return words;
}

}  // namespace

TextTranslator::TextTranslator(std::shared_ptr<StepDecoder> decoder, TranslationTexts texts, int64_t longest,
                               const TranslateOptions& options, std::shared_ptr<const Shortlist> shortlist)
    : decoder_(std::move(decoder)),
      texts_(std::move(texts)),
      longest_(
          std::min(longest > 0 ? longest : std::numeric_limits<int64_t>::max(), decoder_->max_positions())),
      options_(options),
      shortlist_(std::move(shortlist)) {
  check_ranges(options_, "translate");
  check_search(options_.search);
}

TextTranslator::Line TextTranslator::make_line(std::string source) {
  Line line;
  line.result.number = lines_++;
  line.result.source = std::move(source);
  const std::string& text = line.result.source;
  if (!is_kept(text)) line.parts = line_parts(text, texts_.source, longest_, options_.split);
  line.found.resize(line.parts.size());
  line.waiting = line.parts.size();
  line.result.parts = std::ssize(line.parts);
  line.result.too_long = !options_.split && line.parts.size() > 1;
  return line;
}

std::vector<TextTranslator::Line> TextTranslator::read_window(const TranslateRequest& request,
                                                              std::exception_ptr& trouble) {
  std::vector<Line> window;
  const auto most = static_cast<size_t>(options_.batch > 1 ? kBatchesAhead * options_.batch : 1);
  size_t bytes = 0;
  try {
    while (window.size() < most && bytes < kBytesAhead) {
      if (!window.empty() && request.wait_for_more && !request.wait_for_more()) break;
      std::optional<std::string> text = request.next_line();
      if (!text) break;
      bytes += text->size();
      window.push_back(make_line(std::move(*text)));
    }
  } catch (const Error&) {
    trouble = std::current_exception();
  }
  return window;
}

void TextTranslator::append(Translation& whole, Words& before, const Hypothesis& part,
                            const LinePart& source) const {
  const Tokenizer& tokenizer = texts_.target.tokenizer();
  const std::span<const Token> tokens = std::span(part.tokens).first(part.tokens.size() - 1);  // without </s>
  std::vector<std::string> source_words =
      words_of(TranslationText::prepare(source.text, texts_.source.options()));
  std::string text = tokenizer.decode(tokens);
  std::vector<std::string> words = words_of(text);
  if (!part.aligned.empty()) {
    std::vector<int64_t> from =
        word_numbers(texts_.source.tokenizer(), std::span(source.tokens).first(source.tokens.size() - 1));
    std::vector<int64_t> to = word_numbers(tokenizer, tokens);
    if (options_.replace_unknown) {
      const std::string unknown(trim(tokenizer.text(kUnknown, true)));
      text = join(replace_unknown(words, source_words, align_words(part.aligned, from, to), unknown), " ");
    }
    for (int64_t& word : from) word += before.source;
    for (int64_t& word : to) word += before.target;
    append_with_blank(whole.alignment, pharaoh(part.aligned, from, to));
  }
  before.source += std::ssize(source_words);
  before.target += std::ssize(words);
  append_with_blank(whole.text, as_line(valid_utf8(TranslationText::restore(text, texts_.target.options()))));
  whole.score += part.score;
  whole.log_probability += part.sum;
  whole.tokens += std::ssize(part.tokens);
}

void TextTranslator::finish(Line& line) const {
  std::vector<Translation>& translations = line.result.translations;
  if (line.parts.empty()) {
    translations.emplace_back();
    if (is_kept(line.result.source)) translations.back().text = valid_utf8(line.result.source);
    return;
  }
  size_t count = line.found.front().size();
  for (const NBest& best : line.found) count = std::min(count, best.size());
  if (count == 0) translations.emplace_back();  // a line stays a line
  for (size_t n = 0; n < count; ++n) {
    Translation& whole = translations.emplace_back();
    Words before;
    for (size_t i = 0; i < line.parts.size(); ++i) append(whole, before, line.found[i][n], line.parts[i]);
  }
}

void TextTranslator::translate_window(std::vector<Line>& window, const TranslateRequest& request,
                                      StepDecoder& decoder) {
  struct Place {
    size_t line, part;
  };
  std::vector<SearchSentence> sentences;
  std::vector<Place> places;
  const std::vector<Token> prefix = texts_.target.encode(request.prefix);
  for (size_t i = 0; i < window.size(); ++i)
    for (size_t k = 0; k < window[i].parts.size(); ++k) {
      const uint64_t number = (static_cast<uint64_t>(window[i].result.number) << kPartBits) + k;
      sentences.push_back({window[i].parts[k].tokens, k == 0 ? prefix : std::vector<Token>(), number});
      places.push_back({i, k});
    }

  const TargetTokens allowed{texts_.target.tokenizer().size(), shortlist_.get()};
  size_t used = 0;
  const auto use_finished = [&] {
    for (; used < window.size() && window[used].waiting == 0; ++used) {
      finish(window[used]);
      request.use(window[used].result);
      window[used] = Line();
    }
  };
  for (const std::vector<size_t>& batch : length_batches(sentences, options_.batch, options_.batch_tokens)) {
    std::vector<SearchSentence> some;
    for (const size_t i : batch) some.push_back(sentences[i]);
    std::vector<NBest> found = beam_search(decoder, some, options_.search, allowed);
    for (size_t k = 0; k < batch.size(); ++k) {
      Line& line = window[places[batch[k]].line];
      line.found[places[batch[k]].part] = std::move(found[k]);
      --line.waiting;
    }
    use_finished();
  }
  use_finished();
}

void TextTranslator::translate(const TranslateRequest& request) {
  StoppableDecoder decoder(*decoder_, request.go_on);
  std::exception_ptr trouble;
  try {
    while (!trouble) {
      std::vector<Line> window = read_window(request, trouble);
      if (window.empty()) break;
      translate_window(window, request, decoder);
    }
  } catch (const Stopped&) {
    return;
  }
  if (trouble) std::rethrow_exception(trouble);
}

std::vector<TranslatedLine> TextTranslator::translate(std::span<const std::string> lines,
                                                      const std::string& prefix) {
  std::vector<TranslatedLine> translated;
  size_t next = 0;
  TranslateRequest request;
  request.next_line = [&]() -> std::optional<std::string> {
    return next < lines.size() ? std::optional(lines[next++]) : std::nullopt;
  };
  request.use = [&](const TranslatedLine& line) { translated.push_back(line); };
  request.prefix = prefix;
  translate(request);
  return translated;
}

}  // namespace mega::infer
