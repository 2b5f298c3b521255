// Translates sentences: the search for the most likely target of each, or samples of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/infer/translation/hypothesis.h"
#include "mega/infer/translation/search_options.h"
#include "mega/infer/translation/shortlist.h"
#include "mega/infer/translation/step_decoder.h"

namespace mega::infer {

// The tokens that translations may have.
struct TargetTokens {
  int64_t types = 0;  // tokens from this on are no word of the vocabulary, though the decoder may have them;
                      // 0: all are
  const Shortlist* shortlist = nullptr;  // only candidates of the words of all sources
};

// Searches for all sentences side by side: one step of the decoder continues the hypotheses of all of them,
// and sentences that are done cost nothing. results[i] belongs to sentences[i], and is what the sentence
// alone would get, up to rounding.
std::vector<NBest> beam_search(StepDecoder& decoder, std::span<const SearchSentence> sentences,
                               const SearchOptions& options, const TargetTokens& allowed = {});

// The sentences in batches of similar length, longest first: each has at most this many sentences, and source
// tokens, unless a single sentence is longer.
std::vector<std::vector<size_t>> length_batches(std::span<const SearchSentence> sentences,
                                                int64_t max_sentences, int64_t max_tokens);

// Searches in such batches; results[i] belongs to sentences[i].
std::vector<NBest> search_in_batches(StepDecoder& decoder, std::span<const SearchSentence> sentences,
                                     const SearchOptions& options, int64_t max_sentences, int64_t max_tokens,
                                     const TargetTokens& allowed = {});

}  // namespace mega::infer
