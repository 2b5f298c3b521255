// Learns from parallel text which target tokens a source token is translated to: IBM model 1 (Brown et al.
// 1993), a lexical translation probability t(target | source) by expectation maximisation, where each target
// token comes from one source token or from none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/infer/translation/shortlist.h"

namespace mega::infer {

struct ShortlistOptions {
  int64_t per_word = 50;
  int64_t frequent = 100;
  int64_t passes = 4;
  int64_t sentences = 500'000;
  int64_t longest = 100;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("per_word", self.per_word, "most likely translations kept of each source token", Range{1, 1e6});
    v.field("frequent", self.frequent, "most frequent target tokens that are always allowed", Range{0, 1e7});
    v.field("passes", self.passes, "passes of expectation maximisation over the text", Range{1, 100});
    v.field("sentences", self.sentences, "max number of sentence pairs to learn from", Range{1, 1e9});
    v.field("longest", self.longest, "pairs with more tokens than this on a side are skipped", Range{1, 1e6});
  }
};

class LexicalModel {
 public:
  LexicalModel(int64_t source_vocabulary, int64_t target_vocabulary, const ShortlistOptions& options);

  // A pair of sentences; </s> may be there or not. False if it was skipped, because it is too long or there
  // are enough. Error if a token is outside its vocabulary.
  bool add(std::span<const Token> source, std::span<const Token> target);

  int64_t pairs() const { return std::ssize(pairs_); }

  // Error without a pair.
  Shortlist learn();

 private:
  // Where the tokens of a pair are in tokens_: the source, then the target.
  struct Pair {
    size_t begin;
    uint32_t source, target;
  };
  // What a source token occurs with, ascending, and with which probability it is translated to it.
  struct Entry {
    std::vector<Token> targets;
    std::vector<float> probabilities;
    std::vector<float> counts;  // expected, of a pass

    size_t find(Token target) const;
  };

  template <class Body>
  void for_each_pair(const Body& body) const;
  void collect();
  void pass();

  int64_t source_vocabulary_, target_vocabulary_;
  ShortlistOptions options_;
  std::vector<Token> tokens_;
  std::vector<Pair> pairs_;
  std::vector<Entry> entries_;  // of each source token, and last of no token
};

}  // namespace mega::infer
