// Token files that tests of running text are made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "mega/data/corpus/token_file.h"

namespace mega::data {

inline TokenView write_tokens(const std::filesystem::path& path, const std::vector<int32_t>& tokens,
                              int64_t vocabulary = 1000) {
  TokenWriter writer(path, vocabulary, 7);
  writer.append(tokens);
  writer.finish();
  TokenView view;
  view.file = std::make_shared<const TokenFile>(TokenFile::open(path));
  view.end = view.file->size();
  view.name = "text";
  return view;
}

}  // namespace mega::data
