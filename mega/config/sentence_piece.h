// Pieces that SentencePiece learns from the training text (a unigram language model), so that frequent words
// are one token and rare ones several.
//
// Every text comes back exactly as it was, bytes that are no UTF-8 included: nothing is normalised, blanks
// are part of the pieces, and what no piece covers is written as its bytes. No text becomes <unk>.
//
// Tokens are the four specials, then SentencePiece's pieces in its own order without those that stand for no
// text: the 256 bytes, then the learnt ones, likely ones first. The vocabulary is its serialised model.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "mega/config/tokenizer.h"

namespace mega {

// What `vocabulary` = 0 stands for.
inline constexpr int64_t kUsualPieces = 8000;

std::unique_ptr<Tokenizer> make_sentence_piece_tokenizer(std::string_view model, const std::string& where);

// Learns from a sample of 64 MiB where the text is longer. A text that has not enough different pieces gives
// a smaller vocabulary than was asked for.
std::unique_ptr<TokenizerBuilder> make_sentence_piece_builder(const LanguageInput& options);

// The bytes at the begin of a text that SentencePiece can read: up to a byte that is no UTF-8, or a character
// that it keeps for itself.
size_t readable_prefix(std::string_view text);

}  // namespace mega
