// A running text for language models: read, divided and kept as tokens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/data/corpus/token_file.h"
#include "mega/data/record.h"
#include "mega/text/tokenizer.h"

namespace mega::data {

struct Corpus {
  std::shared_ptr<const Tokenizer> tokenizer;
  TokenView train, valid, test;
  std::string checksum;  // of all tokens and the vocabulary

  const TokenView& part(Split split) const;
};

// Plain or packed files of text: one, a folder of them (of any depth, in the order of their paths), or
// standard input. Their split is what their names say, or else the text is divided in its order. Each line
// ends with </s>, the last of a file too.
//
// `known`: the tokenizer of a model, or null in training, where the vocabulary is that of the training text.
//
// Vocabulary and tokens are made once, with memory that does not grow with the text, and kept in
// cache_folder("tokens") under a name that changes with what is in the files and with the options.
Corpus load_corpus(const DataOptions& data, const LanguageInput& input,
                   std::shared_ptr<const Tokenizer> known);

// The tokens of a text that is read once: a plain or packed file, or standard input (-). They are kept on
// disk for as long as the view lives, and no longer. An empty text is an Error.
TokenView tokenize_once(const std::filesystem::path& path, const Tokenizer& tokenizer);

}  // namespace mega::data
