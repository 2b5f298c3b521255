// A lexical shortlist: the target tokens that words of the source are usually translated to. Restricting the
// output of a translator to those of a batch saves most of its output layer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "mega/text/tokens.h"

namespace mega::infer {

class Shortlist {
 public:
  // `likely` has a list of target tokens for each source token, `always` are tokens of every restriction.
  // </s> and <unk> are added to these. Error if a token is negative.
  Shortlist(std::vector<std::vector<Token>> likely, std::vector<Token> always);

  // Written atomically, as safetensors. Error if a file is no shortlist, or damaged.
  static Shortlist open(const std::filesystem::path& path);
  void save(const std::filesystem::path& path) const;

  int64_t source_vocabulary() const { return std::ssize(likely_); }
  std::span<const Token> always() const { return always_; }
  std::span<const Token> likely(Token source) const { return likely_[static_cast<size_t>(source)]; }

  // What these sources may be translated to, distinct and ascending. Error if a token is outside the source
  // vocabulary.
  std::vector<Token> candidates(std::span<const std::vector<Token>> sources) const;

 private:
  std::vector<std::vector<Token>> likely_;
  std::vector<Token> always_;  // distinct and ascending
};

}  // namespace mega::infer
