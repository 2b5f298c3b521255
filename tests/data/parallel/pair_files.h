// Parallel texts that tests are made of: a folder of files, a cache, and options that name them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/files/stream.h"
#include "mega/data/parallel/parallel_corpus.h"
#include "tests/base/helpers.h"

namespace mega::data {

class PairFilesTest : public ::testing::Test {
 protected:
  PairFilesTest() { ::setenv("MEGA_CACHE", (folder_ / "cache").c_str(), 1); }
  ~PairFilesTest() override { ::unsetenv("MEGA_CACHE"); }

  std::filesystem::path path(const char* name) const { return folder_ / name; }

  // Compressed as its name ends.
  void put(const char* name, std::string_view text) const {
    std::filesystem::create_directories(path(name).parent_path());
    OutputStream file(path(name));
    file.write(text);
    file.commit();
  }

  // Nothing is divided unless a test wants it.
  DataOptions data(const char* name) const {
    DataOptions options;
    options.path = path(name).string();
    options.valid_share = options.test_share = 0;
    return options;
  }

  const testing::ScratchFolder folder_;
};

inline TranslationInput translation(TextUnits units, const char* source = "", const char* target = "") {
  TranslationInput input;
  input.units = units;
  input.source_language = source;
  input.target_language = target;
  return input;
}

inline std::vector<int32_t> tokens_of(const TokenLines& side, int64_t number) {
  const Block line = side.line(number);
  std::vector<int32_t> tokens(static_cast<size_t>(line.size()));
  side.text().file->copy(line.begin, line.size(), tokens.data());
  return tokens;
}

// "source | target", as the tokens say.
inline std::vector<std::string> texts_of(const ParallelCorpus& corpus, const PairPart& part) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < part.size(); ++i) {
    std::string text = corpus.tokenizers.source->decode(tokens_of(part.source, i));
    text.pop_back();  // </s>
    text += " | " + corpus.tokenizers.target->decode(tokens_of(part.target, i));
    text.pop_back();
    texts.push_back(text);
  }
  return texts;
}

}  // namespace mega::data
