// Translates lines of text: from text to tokens, the search in batches of similar length, and back to text.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/infer/translation/hypothesis.h"
#include "mega/infer/translation/line_parts.h"
#include "mega/infer/translation/search_options.h"
#include "mega/infer/translation/shortlist.h"
#include "mega/infer/translation/step_decoder.h"

namespace mega::infer {

struct TranslateOptions {
  SearchOptions search;
  int64_t batch = 32;
  int64_t batch_tokens = 4096;
  bool split = false;
  bool replace_unknown = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.nested("search", self.search, "the search for translations");
    v.field("batch", self.batch, "most sentences that are translated side by side", Range{1, 65536});
    v.field("batch_tokens", self.batch_tokens, "most source tokens of these together", Range{1, 1e9});
    v.field("split", self.split,
            "translate the sentences of a line one by one, and keep lines that are one <tag>");
    v.field("replace_unknown", self.replace_unknown,
            "in place of <unk>, write the source word that it is aligned to");
  }
};

struct Translation {
  std::string text;              // valid UTF-8 without line breaks
  double score = 0.0;            // log-probability, divided by the length penalty
  double log_probability = 0.0;  // natural, of all tokens
  int64_t tokens = 0;            // with </s>
  // Words of the source and of the text before they are joined (Moses), in the form of Pharaoh; empty if the
  // model does not tell.
  std::string alignment;
};

struct TranslatedLine {
  int64_t number = 0;  // of the line, from 0
  std::string source;
  // Best first. Of an empty line one that is empty. Where a line was translated in parts, the n-th is that of
  // all parts, and numbers are sums.
  std::vector<Translation> translations;
  int64_t parts = 0;      // sentences that were translated for it
  bool too_long = false;  // it was cut because the model reads no more at once
};

struct TranslateRequest {
  // The next line, or nullopt at the end. Lines read before an Error are translated before it is passed on.
  std::function<std::optional<std::string>()> next_line;
  // Whether to wait for the next line: if not, those read so far are translated first. Empty: always.
  std::function<bool()> wait_for_more;
  // Gets the translations in the order of the lines, as soon as they are known.
  std::function<void(const TranslatedLine&)> use;
  // Asked before every step; false ends the work. Lines whose translation is not known then are not used.
  // Empty: never.
  std::function<bool()> go_on;
  std::string prefix;  // what all translations begin with, as text
};

// Not thread-safe.
class TextTranslator {
 public:
  // `longest`: tokens of a source with </s>, 0 for as many as the decoder allows. `shortlist` may be null.
  TextTranslator(std::shared_ptr<StepDecoder> decoder, TranslationTexts texts, int64_t longest,
                 const TranslateOptions& options, std::shared_ptr<const Shortlist> shortlist = nullptr);

  // Reads lines as they come, a bounded number ahead. What a line gives does not depend on the others, up to
  // rounding.
  void translate(const TranslateRequest& request);

  std::vector<TranslatedLine> translate(std::span<const std::string> lines, const std::string& prefix = "");

  // The number of the next line, from 0, where those before it are translated elsewhere. It also chooses what
  // is drawn for the line, if translations are sampled.
  void begin_at(int64_t line) { lines_ = line; }

 private:
  struct Line {
    TranslatedLine result;
    std::vector<LinePart> parts;
    std::vector<NBest> found;  // of each part
    size_t waiting = 0;        // parts that are not translated yet
  };

  struct Words {  // of the parts before
    int64_t source = 0, target = 0;
  };

  bool is_kept(const std::string& line) const { return options_.split && is_markup(line); }
  Line make_line(std::string source);
  std::vector<Line> read_window(const TranslateRequest& request, std::exception_ptr& trouble);
  void translate_window(std::vector<Line>& window, const TranslateRequest& request, StepDecoder& decoder);
  void finish(Line& line) const;
  void append(Translation& whole, Words& before, const Hypothesis& part, const LinePart& source) const;

  std::shared_ptr<StepDecoder> decoder_;
  TranslationTexts texts_;
  int64_t longest_;
  TranslateOptions options_;
  std::shared_ptr<const Shortlist> shortlist_;
  int64_t lines_ = 0;
};

}  // namespace mega::infer
