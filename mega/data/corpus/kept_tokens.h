// Vocabularies and tokens that were made before: found again by a fingerprint of what they were made from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "mega/data/corpus/token_file.h"
#include "mega/text/tokenizer.h"

namespace mega::data {

// The tokenizer that the options name, or one that is learnt from a text: `read` adds all its lines. What was
// learnt is kept in the folder, by `text`, the fingerprint of the text.
std::shared_ptr<const Tokenizer> learn_tokenizer(const TokenizerOptions& options, uint64_t text,
                                                 const std::filesystem::path& folder,
                                                 const std::function<void(TokenizerBuilder&)>& read);

// Of what the tokenizer makes of a text.
uint64_t tokenizer_fingerprint(const Tokenizer& tokenizer, TextUnits units);

// The token file, if it is there, whole and of this fingerprint; null otherwise: to be made again.
std::shared_ptr<const TokenFile> open_kept(const std::filesystem::path& path, uint64_t fingerprint);

// All of a token file.
TokenView whole_view(std::shared_ptr<const TokenFile> file, std::string name);

}  // namespace mega::data
