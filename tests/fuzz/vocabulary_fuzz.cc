// Any bytes as the vocabulary of a tokenizer, and as a token file: a tokenizer that keeps what it promises,
// or an Error. The first byte chooses the units.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/error.h"
#include "mega/data/corpus/token_file.h"
#include "mega/text/tokenizer.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using namespace mega;

void check(bool ok) {
  if (!ok) std::abort();
}

void check_tokenizer(TextUnits units, std::string_view vocabulary) {
  try {
    const auto tokenizer = make_tokenizer(units, vocabulary, "fuzz");
    // Text of its own symbols, and some of which it knows nothing.
    const std::string text = std::string(vocabulary.substr(0, 200)) + "\n\xC3 \xF0\x9F\x98\x80 a";
    const std::vector<int32_t> tokens = tokenizer->encode(text);
    for (const int32_t token : tokens) check(token >= 0 && token < tokenizer->size());
    const std::vector<Token> document = tokenizer->encode_document(text, 0);
    check(document.back() == kEnd && std::ssize(document) == tokenizer->document_length(text, 0));
    for (const Token token : document) check(token >= 0 && token < tokenizer->size());
    const std::string decoded = tokenizer->decode(tokens);
    if (units == TextUnits::sentencepiece) check(decoded == text);
    check(make_tokenizer(units, tokenizer->vocabulary(), "again")->size() == tokenizer->size());
  } catch (const Error&) {
  }
}

void check_token_file(const std::filesystem::path& path) {
  try {
    const data::TokenFile file = data::TokenFile::open(path);
    std::vector<int64_t> tokens(static_cast<size_t>(file.size()));
    file.copy(0, file.size(), tokens.data());
    for (const int64_t token : tokens) check(token >= 0 && token < file.vocabulary());
    file.verify();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const testing::ScratchFile file(".tokens");
  if (size == 0) return 0;
  constexpr std::array kUnits = {TextUnits::characters, TextUnits::words, TextUnits::sentencepiece,
                                 TextUnits::bpe};
  const std::string_view rest(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  check_tokenizer(kUnits[bytes[0] % kUnits.size()], rest);
  check_token_file(file.write({bytes + 1, size - 1}));
  return 0;
}
