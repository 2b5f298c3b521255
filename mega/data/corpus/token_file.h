// A running text as token numbers, in a file that is memory-mapped: a corpus may be larger than the memory.
//
// The file: a head (magic, version, bytes of a token), the tokens, and a foot with what is known only when
// the last token is written: counts, checksum, fingerprint. Numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/files/file.h"
#include "mega/data/corpus/text_counts.h"

namespace mega::data {

// Writes a token file that appears whole, by finish(), or not at all.
class TokenWriter {
 public:
  // `fingerprint`: of what the file is made from, for whoever wants to use it again.
  TokenWriter(std::filesystem::path path, int64_t vocabulary, uint64_t fingerprint);

  // Counts lines and unknown tokens; a token out of the vocabulary is an Error.
  void append(std::span<const int32_t> tokens);
  // Counts the text that the tokens came from: characters and bytes.
  void count_text(std::string_view text);
  void finish();

  int64_t size() const { return size_; }

 private:
  template <class Token>
  void append_as(std::span<const int32_t> tokens);
  void write_buffer();

  std::filesystem::path path_;
  AtomicFile file_;
  int64_t vocabulary_;
  uint64_t fingerprint_;
  uint64_t checksum_;
  int64_t size_ = 0;
  TextCounts counts_;
  std::vector<std::byte> unwritten_;  // a line is too little for a write of its own
};

// Immutable; safe to use from many threads.
class TokenFile {
 public:
  // A file that is damaged, truncated or none of ours is an Error. Looks at head, foot and size only.
  static TokenFile open(const std::filesystem::path& path);

  int64_t size() const { return size_; }
  int64_t vocabulary() const { return vocabulary_; }
  const TextCounts& counts() const { return counts_; }
  uint64_t checksum() const { return checksum_; }
  uint64_t fingerprint() const { return fingerprint_; }
  int bytes_per_token() const { return bytes_per_token_; }

  // Tokens begin .. begin + count - 1; one out of the vocabulary is an Error.
  void copy(int64_t begin, int64_t count, int32_t* out) const;

  // The first place of `token` in begin .. end - 1, or else `end`.
  int64_t find(int32_t token, int64_t begin, int64_t end) const;

  // Reads all tokens: one that was changed or is out of the vocabulary is an Error.
  void verify() const;

 private:
  TokenFile(const std::filesystem::path& path);
  void require_within(int64_t begin, int64_t end) const;

  template <class Action>
  auto with_tokens(int64_t begin, int64_t end, const Action& action) const;

  std::string name_;
  MappedFile file_;
  int bytes_per_token_ = 0;
  int64_t size_ = 0, vocabulary_ = 0;
  TextCounts counts_;
  uint64_t checksum_ = 0, fingerprint_ = 0;
};

// A stretch of a token file: a text to train or to evaluate on.
struct TokenView {
  std::shared_ptr<const TokenFile> file;  // null where there is no text
  int64_t begin = 0, end = 0;
  TextCounts counts;
  std::string name;  // for messages

  int64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

}  // namespace mega::data
