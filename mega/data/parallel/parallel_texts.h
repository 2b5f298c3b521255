// Which files hold the parallel text that a translator is trained and evaluated on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/data/parallel/pair_search.h"
#include "mega/data/parallel/pair_text.h"

namespace mega::data {

struct ParallelTexts {
  Languages languages;
  PairText train, valid;        // without files where there is none
  std::vector<PairText> tests;  // each set by its own name
};

// What the options name. data.path (and data.valid, data.test) may be
// - a file, with its translation in data.target or in the file of the same name that ends in the other
//   language: train.en, train.de;
// - the beginning of both names: train;
// - a table with both sides: tsv, csv or jsonl, or standard input;
// - a folder of such files, whose names say the split; every test set stays by itself.
// Where nothing says the split, pairs are divided by their content. A file of one language without its
// counterpart, and a pipe among files, are problems. Standard input is first copied into the folder `spool`.
ParallelTexts find_parallel_texts(const DataOptions& options, const TranslationInput& input,
                                  const std::filesystem::path& spool, Problems& problems);

}  // namespace mega::data
