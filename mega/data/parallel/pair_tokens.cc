#include "mega/data/parallel/pair_tokens.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/hash.h"
#include "mega/base/options/options_io.h"
#include "mega/base/strings.h"
#include "mega/data/corpus/cache_folder.h"
#include "mega/data/corpus/kept_tokens.h"
#include "mega/data/corpus/late_progress.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// The files of a part; the counts are written last, so that tokens without them are made again.
struct PartFiles {
  fs::path source, target, counts;

  PartFiles(const fs::path& folder, uint64_t fingerprint)
      : source(folder / (hexadecimal(fingerprint) + ".source.tokens")),
        target(folder / (hexadecimal(fingerprint) + ".target.tokens")),
        counts(folder / (hexadecimal(fingerprint) + ".pairs")) {}
};

uint64_t fingerprint_of(const PairText& text, const PairEncoding& encoding, const PairSelection& selection) {
  char numbers[128];
  std::snprintf(numbers, sizeof numbers, "%lld %d %.17g %lld %d", static_cast<long long>(encoding.max_length),
                selection.clean, selection.max_ratio, static_cast<long long>(selection.limit),
                selection.skip_broken);
  return hash_text(numbers, hash_number(encoding.fingerprint, text.fingerprint()));
}

std::optional<PairCounts> read_counts(const fs::path& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return std::nullopt;
  try {
    PairCounts counts;
    options_from_json(counts, parse_json(read_file(path), path.string()), {path.string(), {}, ""});
    return counts;
  } catch (const Error&) {  // damaged: made again
    return std::nullopt;
  }
}

// Cuts one side into tokens.
class Side {
 public:
  Side(const Tokenizer& tokenizer, const PairPreparation::Prepare& prepare, int64_t max_length,
       const fs::path& path, uint64_t fingerprint)
      : tokenizer_(tokenizer),
        prepare_(prepare),
        max_length_(max_length),
        writer_(path, tokenizer.size(), fingerprint) {}

  void encode(const std::string& line) {
    line_ = &line;
    // One more than may be: then it is too long.
    const int64_t most = max_length_ > 0 ? max_length_ + 1 : 0;
    tokens_ =
        prepare_ ? tokenizer_.encode_document(prepare_(line), most) : tokenizer_.encode_document(line, most);
  }
  bool too_long() const { return max_length_ > 0 && length() > max_length_; }
  int64_t length() const { return std::ssize(tokens_); }
  bool empty() const { return length() == 1 || trim(*line_).empty(); }

  void cut() {
    tokens_.resize(static_cast<size_t>(max_length_));
    tokens_.back() = kEnd;
  }
  void write() {
    writer_.append(tokens_);
    writer_.count_text(*line_);
    writer_.count_text("\n");
  }
  void finish() { writer_.finish(); }

 private:
  const Tokenizer& tokenizer_;
  const PairPreparation::Prepare& prepare_;
  int64_t max_length_;
  TokenWriter writer_;
  const std::string* line_ = nullptr;
  std::vector<Token> tokens_;
};

bool unbalanced(int64_t one, int64_t other, double most) {
  const auto [less, more] = std::minmax(one, other);
  return most > 0 && static_cast<double>(more) > most * static_cast<double>(less);
}

PairCounts write_pairs(const PairText& text, const PairEncoding& encoding, const PairSelection& selection,
                       const PartFiles& files, uint64_t fingerprint) {
  const PairPreparation& preparation = encoding.preparation;
  Side source(*encoding.tokenizers.source, preparation.source, encoding.max_length, files.source,
              fingerprint);
  Side target(*encoding.tokenizers.target, preparation.target, encoding.max_length, files.target,
              fingerprint);
  LateProgress progress("tokenizing " + text.name, 0, "pairs");
  Problems problems(selection.skip_broken);
  PairReader reader(text, problems);
  PairCounts counts;
  for (Pair pair; (selection.limit == 0 || counts.pairs < selection.limit) && reader.next(pair);) {
    progress.update(counts.read());
    source.encode(pair.source);
    target.encode(pair.target);
    counts.empty_sources += source.empty() ? 1 : 0;
    counts.empty_targets += target.empty() ? 1 : 0;
    counts.identical += !source.empty() && pair.source == pair.target ? 1 : 0;
    const bool too_long = source.too_long() || target.too_long();
    if (selection.clean) {
      int64_t* const reason = source.empty() || target.empty() ? &counts.empty
                              : too_long                       ? &counts.too_long
                              : unbalanced(source.length() - 1, target.length() - 1, selection.max_ratio)
                                  ? &counts.unbalanced
                                  : nullptr;
      if (reason != nullptr) {
        ++*reason;
        continue;
      }
    }
    counts.cut += too_long ? 1 : 0;
    for (Side* side : {&source, &target}) {
      if (side->too_long()) side->cut();
      side->write();
    }
    ++counts.pairs;
  }
  counts.broken = problems.count();
  source.finish();
  target.finish();
  write_file(files.counts, options_to_json(counts).dump(2) + "\n");
  return counts;
}

}  // namespace

PairPart load_pairs(const PairText& text, const PairEncoding& encoding, const PairSelection& selection,
                    const fs::path& folder) {
  PairPart part;
  part.text = text;
  if (text.empty()) return part;
  const uint64_t fingerprint = fingerprint_of(text, encoding, selection);
  const PartFiles files(folder, fingerprint);
  std::shared_ptr<const TokenFile> source, target;
  if (const auto kept = read_counts(files.counts)) {
    part.counts = *kept;
    source = open_kept(files.source, fingerprint);
    target = open_kept(files.target, fingerprint);
  }
  if (!source || !target) {
    require_writable(folder);
    part.counts = write_pairs(text, encoding, selection, files, fingerprint);
    source = std::make_shared<const TokenFile>(TokenFile::open(files.source));
    target = std::make_shared<const TokenFile>(TokenFile::open(files.target));
  }
  part.source = TokenLines(whole_view(std::move(source), text.name));
  part.target = TokenLines(whole_view(std::move(target), text.name));
  require(part.source.size() == part.counts.pairs && part.target.size() == part.counts.pairs,
          files.counts.string(), ": its tokens are ", part.source.size(), " and ", part.target.size(),
          " lines, expected ", part.counts.pairs, "; delete it, and it will be made again");
  return part;
}

std::vector<Pair> written_pairs(const PairPart& part) {
  require(part.counts.left_out() == 0, part.name(),
          ": pairs were left out; the text has others than the tokens");
  std::vector<Pair> pairs;
  Problems problems(true);
  PairReader reader(part.text, problems);
  for (Pair pair; std::ssize(pairs) < part.size() && reader.next(pair);) pairs.push_back(std::move(pair));
  require(std::ssize(pairs) == part.size(), part.name(),
          ": the text has changed since it was read: ", std::ssize(pairs), " pairs, there were ",
          part.size());
  return pairs;
}

}  // namespace mega::data
