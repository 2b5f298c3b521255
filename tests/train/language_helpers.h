// Tiny language models and texts that tests of their training are made of.
#pragma once

#include <string>
#include <vector>

#include "mega/base/random.h"
#include "mega/data/corpus/corpus.h"
#include "mega/text/tokens.h"
#include "mega/train/tasks/language_task.h"
#include "tests/data/token_texts.h"
#include "tests/models/helpers.h"
#include "tests/train/helpers.h"

namespace mega::testing {

inline constexpr int64_t kByteTypes = 264;

inline LanguageModelOptions tiny_byte_model() { return tiny_language_model(kByteTypes, /*chunk=*/16); }

// Lines of a language in which each letter but the first follows from the one before.
inline std::vector<int32_t> alphabet_text(const std::string& name, int64_t tokens) {
  std::vector<int32_t> text;
  for (uint64_t line = 0; std::ssize(text) < tokens; ++line) {
    const uint64_t bits = stream_seed(3, name, line);
    const auto length = static_cast<int32_t>(3 + bits % 17), first = static_cast<int32_t>((bits >> 8) % 26);
    for (int32_t i = 0; i < length; ++i) text.push_back(kFirstSymbol + 'a' + (first + i) % 26);
    text.push_back(kEnd);
  }
  text.resize(static_cast<size_t>(tokens));
  return text;
}

// As if each token were a byte of the text.
inline data::TokenView byte_text(const std::filesystem::path& path, const std::vector<int32_t>& tokens) {
  data::TokenView view = data::write_tokens(path, tokens, kByteTypes);
  view.counts.bytes = view.counts.characters = view.size();
  return view;
}

inline data::Corpus alphabet_corpus(const std::filesystem::path& folder) {
  data::Corpus corpus;
  corpus.tokenizer = make_tokenizer(TextUnits::bytes, "", "");
  corpus.train = byte_text(folder / "train.tokens", alphabet_text("train", 4000));
  corpus.valid = byte_text(folder / "valid.tokens", alphabet_text("valid", 500));
  corpus.test = byte_text(folder / "test.tokens", alphabet_text("test", 500));
  corpus.checksum = "alphabet";
  return corpus;
}

inline Recipe alphabet_recipe() {
  Recipe recipe;
  recipe.model.model = tiny_byte_model();
  recipe.input.input = LanguageInput();
  recipe.train.learning_rate = 0.02;
  recipe.train.batch = 128;
  recipe.train.batch_unit = BatchUnit::tokens;
  recipe.train.updates = 12;
  recipe.train.evaluate = "4u";
  recipe.train.checkpoint = "3u";
  return recipe;
}

}  // namespace mega::testing
