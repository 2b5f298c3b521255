#include "mega/text/translation_text.h"

#include <gtest/gtest.h>

#include "mega/base/options/options_io.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using Tokens = std::vector<Token>;

std::shared_ptr<const Tokenizer> learn(TokenizerOptions options, const TranslationTextOptions& text,
                                       std::initializer_list<std::string_view> lines) {
  const auto builder = make_tokenizer_builder(options);
  for (const std::string_view line : lines) builder->add_line(TranslationText::prepare(line, text));
  return builder->finish();
}

TranslationTextOptions moses(std::string language) {
  return {.language = std::move(language),
          .normalize = true,
          .tokenize = WordCutting::moses,
          .detokenize = WordCutting::moses};
}

TEST(TranslationText, GoesToSymbolsAndBack) {
  const TranslationText text(moses("en"), learn({.units = TextUnits::bpe, .merges = 20}, moses("en"),
                                                {"The dog isn’t here, the cat isn’t there.", "“The dog!”"}));
  EXPECT_EQ(TranslationText::prepare("The dog isn’t “here”.", text.options()),
            "The dog isn &apos;t &quot; here . &quot;");
  EXPECT_EQ(text.decode(text.encode("The dog isn’t here, \nthe cat isn’t there.\n")),
            "The dog isn't here, the cat isn't there.");
  Tokens tokens = text.encode("The dog!");
  tokens.insert(tokens.end(), {kEnd, kPad, tokens[0]});
  EXPECT_EQ(text.decode(tokens), "The dog!") << "nothing after the end";
  EXPECT_EQ(text.encode(""), Tokens{});
  EXPECT_EQ(text.decode(Tokens{}), "");
}

TEST(TranslationText, LeavesTextAloneByDefault) {
  const TranslationTextOptions options;
  const TranslationText text(options, learn({.units = TextUnits::words}, options, {"a &apos;s b , c"}));
  EXPECT_EQ(text.decode(text.encode("a &apos;s b , c")), "a &apos;s b , c");
  // Text that is cut already is joined when it comes out.
  const TranslationText cut({.language = "en", .detokenize = WordCutting::moses},
                            learn({.units = TextUnits::words}, options, {"a &apos;s b , c"}));
  EXPECT_EQ(cut.decode(cut.encode("a &apos;s b , c")), "a's b, c");
}

TEST(TranslationText, OptionsGoThroughFiles) {
  TranslationTextOptions options = moses("ro"), again;
  options.split_hyphens = true;
  options.escape = false;
  options_from_json(again, options_to_json(options));
  EXPECT_EQ(options_to_json(again), options_to_json(options));
  EXPECT_PRED2(contains, error_of([] { TranslationText({}, nullptr); }), "needs a tokenizer");
}

}  // namespace
}  // namespace mega
