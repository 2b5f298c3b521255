#include "mega/data/corpus/corpus.h"

#include <atomic>
#include <functional>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/hash.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/data/corpus/cache_folder.h"
#include "mega/data/corpus/kept_tokens.h"
#include "mega/data/corpus/late_progress.h"
#include "mega/data/corpus/text_source.h"
#include "mega/text/tokens.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// Bytes of a range as far as that is known without reading it; 0 if it is not.
int64_t known_bytes(const TextRange& range) {
  if (range.end != TextRange{}.end) return range.end - range.begin;
  int64_t bytes = 0;
  for (const fs::path& file : range.files) {
    if (without_packing(file) != file) return 0;
    std::error_code none;
    bytes += static_cast<int64_t>(fs::file_size(file, none));
  }
  return bytes;
}

// Calls the action with each part of the text; one that takes long shows how far it is. Ends where the action
// says false.
void read_parts(const TextRange& range, const char* title,
                const std::function<bool(const TextPart&)>& action) {
  constexpr int64_t kMegabyte = 1'000'000;
  LateProgress progress(title, known_bytes(range) / kMegabyte, "MB");
  int64_t bytes = 0;
  TextReader reader(range);
  for (TextPart part; reader.next(part) && action(part);) {
    bytes += part.bytes;
    progress.update(bytes / kMegabyte);
  }
}

// Adds all lines of the text.
void add_lines(const TextSource& text, TokenizerBuilder& builder) {
  bool empty = true;
  read_parts(text.range(), "counting words", [&](const TextPart& part) {
    builder.add_line(part.text);
    empty = false;
    return true;
  });
  require(!empty, text.name, ": an empty text; there is nothing to learn from");
}

// The longest beginning of a line that has at most so many tokens.
std::string_view beginning(const Tokenizer& tokenizer, std::string_view line, int64_t most) {
  const auto before_character = [&](size_t size) {
    while (size > 0 && size < line.size() && continues_character(line[size])) --size;
    return line.substr(0, size);
  };
  std::vector<int32_t> tokens;
  size_t fits = 0, too_long = line.size() + 1;
  while (fits + 1 < too_long) {
    const size_t middle = fits + (too_long - fits) / 2;
    tokens.clear();
    tokenizer.encode_line(before_character(middle), tokens);
    (std::ssize(tokens) <= most ? fits : too_long) = middle;
  }
  return before_character(fits);
}

void tokenize(const TextSource& text, const Tokenizer& tokenizer, int64_t limit, TokenWriter& writer) {
  std::vector<int32_t> tokens;
  read_parts(text.range(), "tokenizing", [&](const TextPart& part) {
    const auto encode = [&](std::string_view line, bool ends) {
      tokens.clear();
      tokenizer.encode_line(line, tokens);
      if (ends) tokens.push_back(kEnd);
    };
    encode(part.text, part.ends_line);
    const int64_t room = limit - writer.size();
    if (limit > 0 && std::ssize(tokens) > room) {
      const std::string_view line = beginning(tokenizer, part.text, room);
      encode(line, false);
      writer.append(tokens);
      writer.count_text(line);
      return false;
    }
    writer.append(tokens);
    writer.count_text(part.text);
    if (part.bytes > std::ssize(part.text)) writer.count_text("\n");
    return true;
  });
  writer.finish();
}

TokenView load_view(const TextSource& text, const Tokenizer& tokenizer, uint64_t tokenizer_hash,
                    int64_t limit, const fs::path& folder) {
  if (text.files.empty()) return {};
  const uint64_t fingerprint =
      hash_number(static_cast<uint64_t>(limit), hash_number(tokenizer_hash, text.fingerprint()));
  const fs::path path = folder / (hexadecimal(fingerprint) + ".tokens");
  std::shared_ptr<const TokenFile> file = open_kept(path, fingerprint);
  if (!file) {
    require_writable(folder);
    TokenWriter writer(path, tokenizer.size(), fingerprint);
    tokenize(text, tokenizer, limit, writer);
    file = std::make_shared<const TokenFile>(TokenFile::open(path));
  }
  return whole_view(std::move(file), text.name);
}

// Model files carry this number, and a resumed run compares it: it stays as version 0.1 computed it.
std::string data_checksum(const Corpus& corpus, TextUnits units) {
  const Tokenizer& tokenizer = *corpus.tokenizer;
  uint64_t checksum = stream_seed(static_cast<uint64_t>(units), tokenizer.vocabulary(),
                                  static_cast<uint64_t>(tokenizer.size()));
  for (const TokenView* view : {&corpus.train, &corpus.valid, &corpus.test})
    checksum = stream_seed(checksum, "tokens", view->file ? view->file->checksum() : 0);
  return hexadecimal(checksum);
}

}  // namespace

const TokenView& Corpus::part(Split split) const {
  if (split == Split::valid) return valid;
  return split == Split::test ? test : train;
}

Corpus load_corpus(const DataOptions& data, const LanguageInput& input,
                   std::shared_ptr<const Tokenizer> known) {
  const fs::path folder = cache_folder("tokens");
  remove_leftovers(folder);
  const TextSources texts = find_texts(data, folder);
  Corpus corpus;
  corpus.tokenizer = std::move(known);
  const bool training = !corpus.tokenizer;
  if (training) {
    require(!texts.train.files.empty(), data.path, ": no text to train on: all files are named for ",
            "validation or test");
    corpus.tokenizer = learn_tokenizer(input, texts.train.fingerprint(), folder,
                                       [&](TokenizerBuilder& builder) { add_lines(texts.train, builder); });
  }

  const Tokenizer& tokenizer = *corpus.tokenizer;
  const uint64_t fingerprint = tokenizer_fingerprint(tokenizer, input.units);
  const int64_t evaluation_limit = data.evaluation_limit > 0 ? data.evaluation_limit : data.limit;
  const auto load = [&](const TextSource& text, int64_t limit) {
    return load_view(text, tokenizer, fingerprint, limit, folder);
  };
  corpus.train = load(texts.train, data.limit);
  corpus.valid = load(texts.valid, evaluation_limit);
  corpus.test = load(texts.test, evaluation_limit);
  require(!corpus.train.empty() || !corpus.valid.empty() || !corpus.test.empty(), data.path,
          ": an empty text; there is nothing to learn from or to evaluate");
  require(!training || !corpus.train.empty(), data.path,
          ": nothing is left to train on; lower data.valid_share and data.test_share");

  corpus.checksum = data_checksum(corpus, input.units);
  return corpus;
}

TokenView tokenize_once(const fs::path& path, const Tokenizer& tokenizer) {
  std::error_code none;
  require(path == "-" || !fs::is_directory(path, none), path.string(), ": a folder; expected a file of text");
  const fs::path folder = cache_folder("tokens");
  require_writable(folder);
  remove_leftovers(folder);
  static std::atomic<int> count = 0;
  const fs::path kept = folder / temporary_name("once", count++);
  const std::string name = path == "-" ? "standard input" : path.string();
  TokenWriter writer(kept, tokenizer.size(), 0);
  tokenize({{path}, nullptr, 0, name, nullptr}, tokenizer, 0, writer);
  TokenView view = whole_view(std::make_shared<const TokenFile>(TokenFile::open(kept)), name);
  fs::remove(kept, none);  // the memory map keeps what is in it
  require(!view.empty(), view.name, ": an empty text");
  return view;
}

}  // namespace mega::data
