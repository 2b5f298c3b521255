// Parallel text for translators: read, divided, cleaned and kept as tokens.
#pragma once

#include <string>
#include <vector>

#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/data/parallel/pair_tokens.h"
#include "mega/data/parallel/parallel_texts.h"

namespace mega::data {

struct ParallelCorpus {
  TranslationTokenizers tokenizers;
  Languages languages;
  PairPart train, valid;
  std::vector<PairPart> tests;          // each test set by its own name
  std::string checksum;                 // of all tokens and the vocabularies
  int64_t problems = 0;                 // files and rows that were left out because they are broken
  std::vector<Problem> first_problems;  // of the files

  // Training, validation and every test set.
  std::vector<const PairPart*> parts() const;
};

struct ParallelRequest {
  DataOptions data;
  TranslationInput input;
  TranslationTokenizers known;  // of a model; null in training, where vocabularies are those of the text
  PairPreparation preparation;
  bool train = true;  // false: the training part stays empty, for an evaluation; needs known tokenizers
};

// What data.path and its like name (find_parallel_texts). Training leaves out pairs that are empty, too long
// or unbalanced, and its counts say how many; of validation and test nothing is left out.
//
// Vocabularies and tokens are made once, with memory that does not grow with the text, and kept in
// cache_folder("tokens") under names that change with what is in the files and with the options.
ParallelCorpus load_parallel(const ParallelRequest& request);

// The first files and rows that were left out; reads the text again where there are such rows.
std::vector<Problem> list_problems(const ParallelCorpus& corpus);

}  // namespace mega::data
