#include "mega/data/corpus/kept_tokens.h"

#include <optional>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/hash.h"
#include "mega/base/strings.h"
#include "mega/data/corpus/cache_folder.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

std::string vocabulary_checksum(std::string_view vocabulary) { return hexadecimal(hash_text(vocabulary)); }

// A kept vocabulary stands below its checksum; none where it is not there or damaged.
std::optional<std::string> read_kept_vocabulary(const fs::path& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return std::nullopt;
  const std::string text = read_file(path);
  const size_t line = text.find('\n');
  if (line == std::string::npos) return std::nullopt;
  std::string vocabulary = text.substr(line + 1);
  if (text.substr(0, line) != vocabulary_checksum(vocabulary)) return std::nullopt;
  return vocabulary;
}

}  // namespace

std::shared_ptr<const Tokenizer> learn_tokenizer(const TokenizerOptions& options, uint64_t text,
                                                 const fs::path& folder,
                                                 const std::function<void(TokenizerBuilder&)>& read) {
  if (auto ready = make_ready_tokenizer(options)) return ready;
  const std::unique_ptr<TokenizerBuilder> builder = make_tokenizer_builder(options);

  uint64_t fingerprint = text;
  for (const int64_t number : {static_cast<int64_t>(options.units), options.vocabulary, options.min_count})
    fingerprint = hash_number(static_cast<uint64_t>(number), fingerprint);
  if (options.units == TextUnits::bpe) {
    fingerprint = hash_number(static_cast<uint64_t>(options.merges), fingerprint);
    if (!options.model.empty()) fingerprint = hash_text(read_file(options.model), fingerprint);
  }
  const fs::path kept = folder / (hexadecimal(fingerprint) + ".vocabulary");
  if (const auto vocabulary = read_kept_vocabulary(kept))
    return make_tokenizer(options.units, *vocabulary, kept.string());

  require_writable(folder);
  read(*builder);
  std::shared_ptr<const Tokenizer> tokenizer = builder->finish();
  const std::string vocabulary = tokenizer->vocabulary();
  write_file(kept, vocabulary_checksum(vocabulary) + "\n" + vocabulary);
  return tokenizer;
}

uint64_t tokenizer_fingerprint(const Tokenizer& tokenizer, TextUnits units) {
  return hash_number(static_cast<uint64_t>(tokenizer.size()),
                     hash_text(tokenizer.vocabulary(), static_cast<uint64_t>(units)));
}

std::shared_ptr<const TokenFile> open_kept(const fs::path& path, uint64_t fingerprint) {
  std::error_code none;
  if (!fs::exists(path, none)) return nullptr;
  try {
    auto file = std::make_shared<const TokenFile>(TokenFile::open(path));
    if (file->fingerprint() != fingerprint) return nullptr;
    file->verify();  // a billion tokens take a second or two
    return file;
  } catch (const Error&) {  // damaged: made again
    return nullptr;
  }
}

TokenView whole_view(std::shared_ptr<const TokenFile> file, std::string name) {
  TokenView view;
  view.file = std::move(file);
  view.name = std::move(name);
  view.end = view.file->size();
  view.counts = view.file->counts();
  return view;
}

}  // namespace mega::data
