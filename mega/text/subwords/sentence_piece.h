// Pieces that SentencePiece has learnt from a text, so that frequent words are one token and rare ones
// several.
//
// Its program `spm_train` learns them. Texts are cut here, without its library, exactly as it does it:
// whoever has a trained model needs nothing else to use it.
//
// Every text comes back exactly as it was, bytes that are no UTF-8 included: nothing is normalised, blanks
// are part of the pieces, and what no piece covers is written as its bytes. No text becomes <unk>.
//
// Tokens are the four specials, then SentencePiece's pieces in its own order without those that stand for no
// text: in models learnt here the 256 bytes, then the others, likely ones first. The vocabulary is the
// serialised model.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "mega/text/tokenizer.h"

namespace mega {

// What `vocabulary` = 0 stands for.
inline constexpr int64_t kUsualPieces = 8000;

// Models of type unigram or bpe that keep a text as it is; an Error says how others should have been learnt.
std::unique_ptr<Tokenizer> make_sentence_piece_tokenizer(std::string_view model, const std::string& where);

// The tokenizer of the file `options.model`; Error where it has more types than `options.vocabulary`.
std::unique_ptr<Tokenizer> load_sentence_piece_tokenizer(const TokenizerOptions& options);

// Learns (unigram) from a sample of so many bytes where the text is longer. A text that has not enough
// different pieces gives a smaller vocabulary than was asked for. Error where `spm_train` is not installed.
std::unique_ptr<TokenizerBuilder> make_sentence_piece_builder(const TokenizerOptions& options,
                                                              size_t sample = kUsualSample);

}  // namespace mega
