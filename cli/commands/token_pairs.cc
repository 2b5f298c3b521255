#include "cli/commands/token_pairs.h"

#include <algorithm>
#include <limits>

#include "mega/base/error.h"
#include "mega/base/utf8.h"

namespace mega::cli {
namespace {

const TranslationInput& input_of(const AnyTranslator& translator) {
  const auto* input = std::get_if<TranslationInput>(&translator.signature.input.input);
  require(input != nullptr,
          "the model does not say how lines become tokens: expected input.kind = ", "translation");
  return *input;
}

constexpr const char *kSourceColumn = "--source-column", *kTargetColumn = "--target-column";

data::PairText text_of(const PairArguments& pairs, const TranslationInput& input) {
  const std::vector<std::string>& files = pairs.files;
  require(files.size() == 1 || files.size() == 2, files.size(),
          " files: expected a table of sources and targets, or a file of sources and one of targets");
  data::PairText text;
  text.name = files.front();
  text.files = {{files.front(), files.size() == 2 ? files.back() : ""}};
  text.columns.source = pairs.source_column;
  text.columns.target = pairs.target_column;
  text.columns.source_language = input.source_language;
  text.columns.target_language = input.target_language;
  text.columns.source_option = kSourceColumn;
  text.columns.target_option = kTargetColumn;
  return text;
}

}  // namespace

void add_pair_columns(CLI::App& command, PairArguments& pairs) {
  const std::string help = " of a table, by name or number from 1";
  command.add_option(kSourceColumn, pairs.source_column, "column of the sources" + help)->type_name("NAME");
  command.add_option(kTargetColumn, pairs.target_column, "column of the targets" + help)->type_name("NAME");
}

TokenPairReader::TokenPairReader(const PairArguments& pairs, const AnyTranslator& translator)
    : texts_(make_translation_texts(translator.signature, translator.source_types, translator.target_types)),
      longest_(translator.decoder->max_positions()),
      text_(text_of(pairs, input_of(translator))),
      reader_(text_, problems_) {
  if (const int64_t length = input_of(translator).max_length; length > 0)
    longest_ = std::min(longest_, length);
}

std::vector<Token> TokenPairReader::encode(const TranslationText& text, const std::string& line,
                                           bool& cut) const {
  std::vector<Token> tokens = text.encode(valid_utf8(line));
  if (std::ssize(tokens) >= longest_) {
    tokens.resize(static_cast<size_t>(longest_ - 1));
    cut = true;
  }
  tokens.push_back(kEnd);
  return tokens;
}

bool TokenPairReader::next(TokenPair& pair) {
  if (!reader_.next(pair.written)) return false;
  bool cut = false;
  pair.source = encode(texts_.source, pair.written.source, cut);
  pair.target = encode(texts_.target, pair.written.target, cut);
  cut_ += cut ? 1 : 0;
  return true;
}

int64_t TokenPairReader::skip(int64_t pairs) {
  int64_t skipped = 0;
  for (data::Pair pair; skipped < pairs && reader_.next(pair);) ++skipped;
  return skipped;
}

}  // namespace mega::cli
