// Pairs of lines as a translator's tokens, from the files that a command was given.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/any_model.h"
#include "mega/data/parallel/pair_text.h"

namespace mega::cli {

struct TokenPair {
  data::Pair written;
  std::vector<Token> source, target;  // with </s> at the end
};

// Parallel text as a command is given it: a table of sources and targets (tsv, csv, jsonl), or a file of
// each.
struct PairArguments {
  std::vector<std::string> files;
  std::string source_column, target_column;
};

// The options --source-column and --target-column.
void add_pair_columns(CLI::App& command, PairArguments& pairs);

class TokenPairReader {
 public:
  TokenPairReader(const PairArguments& pairs, const AnyTranslator& translator);

  // False at the end. Sides that are longer than the model reads are cut.
  bool next(TokenPair& pair);
  // Passes over so many pairs, or those that there are; returns how many.
  int64_t skip(int64_t pairs);

  int64_t cut() const { return cut_; }  // pairs that were

 private:
  std::vector<Token> encode(const TranslationText& text, const std::string& line, bool& cut) const;

  TranslationTexts texts_;
  int64_t longest_;
  data::PairText text_;
  data::Problems problems_{false};
  data::PairReader reader_;
  int64_t cut_ = 0;
};

}  // namespace mega::cli
