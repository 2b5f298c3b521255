#include "mega/data/parallel/parallel_texts.h"

#include <algorithm>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega::data {

namespace fs = std::filesystem;

ParallelTexts find_parallel_texts(const DataOptions& options, const TranslationInput& input,
                                  const fs::path& spool, Problems& problems) {
  require(!options.path.empty(), "no data: name a file or folder with --data PATH");
  require((options.path == "-") + (options.valid == "-") + (options.test == "-") <= 1,
          "standard input (-) can be one of data.path, data.valid and data.test only");
  ParallelTexts texts;
  texts.languages = {input.source_language, input.target_language};
  PairSearch search(texts.languages, options, spool, problems);
  std::vector<FoundPairs> found = search.find("data.path", options.path, "data.target", options.target);
  const auto add = [&](Split split, const std::string& path, const std::string& target, const char* option,
                       const char* target_option) {
    require(!path.empty() || target.empty(), target_option, " is the translation of ", option,
            ", which is not set");
    if (path.empty()) return;
    for (FoundPairs& one : search.find(option, path, target_option, target)) {
      one.split = split;
      found.push_back(std::move(one));
    }
  };
  add(Split::valid, options.valid, options.valid_target, "data.valid", "data.valid_target");
  add(Split::test, options.test, options.test_target, "data.test", "data.test_target");
  require(texts.languages.source.empty() || texts.languages.source != texts.languages.target,
          "both languages are ", in_quotes(texts.languages.source));

  PairText part;
  part.columns = {options.text_column,    options.second_column, texts.languages.source,
                  texts.languages.target, options.header,        options.delimiter};
  part.hashes = std::make_shared<FileHashes>();
  texts.train = texts.valid = part;
  texts.train.name = split_name(Split::train);
  texts.valid.name = split_name(Split::valid);
  const bool told = std::any_of(found.begin(), found.end(),
                                [](const FoundPairs& one) { return one.split != Split::unknown; });
  for (const FoundPairs& one : found) {
    if (one.split == Split::test) {
      texts.tests.push_back(part);
      texts.tests.back().name = one.name;
      texts.tests.back().files = {one.files};
    } else {
      (one.split == Split::valid ? texts.valid : texts.train).files.push_back(one.files);
    }
  }

  const auto take = [](const PairText& text, const PairDivision& division, Split split) {
    PairText taken = text;
    taken.division = division;
    taken.split = split;
    taken.name = split_name(split);
    return taken;
  };
  if (!texts.valid.empty() || texts.train.empty()) return texts;
  const PairText whole = texts.train;
  const PairDivision division{options.split_seed, options.valid_share, told ? 0.0 : options.test_share};
  texts.train = take(whole, division, Split::train);
  if (division.valid_share > 0) texts.valid = take(whole, division, Split::valid);
  if (division.test_share > 0) texts.tests = {take(whole, division, Split::test)};
  return texts;
}

}  // namespace mega::data
