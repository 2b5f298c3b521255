#include "mega/data/corpus/token_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/base/utf8.h"
#include "mega/text/tokens.h"

namespace mega::data {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens are mapped as they stand in the file");

constexpr std::array<char, 8> kMagic = {'M', 'e', 'g', 'a', 'T', 'o', 'k', '\n'};
constexpr uint32_t kVersion = 1;
constexpr const char* kRemedy = "; delete it, and it will be made again";
constexpr size_t kWrittenAtOnce = size_t{1} << 18;
constexpr uint64_t kChecksumSeed = 0xCBF29CE484222325U;

struct Head {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t bytes_per_token = 0;
};
struct Foot {
  uint64_t tokens = 0, lines = 0, characters = 0, bytes = 0, unknown = 0;
  uint64_t vocabulary = 0, checksum = 0, fingerprint = 0;
  uint64_t own_checksum = 0;  // of the numbers before it
};
static_assert(sizeof(Head) == 16 && sizeof(Foot) == 72, "no padding goes into the file");

constexpr int64_t kMostOfTwoBytes = 1 << 16;
constexpr int64_t kMostTypes = int64_t{1} << 31;

// FNV-1a of the tokens' values, whatever the width in which they are kept.
uint64_t add_to_checksum(uint64_t checksum, uint64_t token) { return (checksum ^ token) * 0x100000001B3U; }

template <class Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

uint64_t own_checksum(const Foot& foot) {
  const std::string_view bytes(reinterpret_cast<const char*>(&foot), offsetof(Foot, own_checksum));
  return stream_seed(kVersion, bytes);
}

template <class Value>
Value read_value(std::span<const std::byte> bytes) {
  Value value;
  std::memcpy(&value, bytes.data(), sizeof(Value));
  return value;
}

}  // namespace

TokenWriter::TokenWriter(std::filesystem::path path, int64_t vocabulary, uint64_t fingerprint)
    : path_(std::move(path)),
      file_(path_),
      vocabulary_(vocabulary),
      fingerprint_(fingerprint),
      checksum_(kChecksumSeed) {
  require(vocabulary > 0 && vocabulary <= kMostTypes, path_.string(), ": a vocabulary of ", vocabulary,
          " tokens");
  Head head;
  head.bytes_per_token = vocabulary <= kMostOfTwoBytes ? sizeof(uint16_t) : sizeof(uint32_t);
  file_.write(bytes_of(head));
}

void TokenWriter::append(std::span<const int32_t> tokens) {
  if (vocabulary_ <= kMostOfTwoBytes) {
    append_as<uint16_t>(tokens);
  } else {
    append_as<uint32_t>(tokens);
  }
}

template <class Token>
void TokenWriter::append_as(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) {
    require(token >= 0 && token < vocabulary_, path_.string(), ": token ", token, " of a vocabulary of ",
            vocabulary_);
    checksum_ = add_to_checksum(checksum_, static_cast<uint64_t>(token));
    counts_.lines += token == kEnd ? 1 : 0;
    counts_.unknown += token == kUnknown ? 1 : 0;
  }
  const size_t before = unwritten_.size();
  unwritten_.resize(before + tokens.size() * sizeof(Token));
  std::byte* to = unwritten_.data() + before;
  for (const int32_t token : tokens) {
    const auto narrow = static_cast<Token>(token);
    std::memcpy(to, &narrow, sizeof(Token));
    to += sizeof(Token);
  }
  size_ += std::ssize(tokens);
  if (unwritten_.size() >= kWrittenAtOnce) write_buffer();
}

void TokenWriter::write_buffer() {
  file_.write(unwritten_);
  unwritten_.clear();
}

void TokenWriter::count_text(std::string_view text) {
  counts_.bytes += std::ssize(text);
  counts_.characters += std::ssize(text) - std::count_if(text.begin(), text.end(), continues_character);
}

void TokenWriter::finish() {
  const auto count = [](int64_t number) { return static_cast<uint64_t>(number); };
  Foot foot{count(size_),
            count(counts_.lines),
            count(counts_.characters),
            count(counts_.bytes),
            count(counts_.unknown),
            count(vocabulary_),
            checksum_,
            fingerprint_};
  foot.own_checksum = own_checksum(foot);
  write_buffer();
  file_.write(bytes_of(foot));
  file_.commit();
}

TokenFile::TokenFile(const std::filesystem::path& path) : name_(path.string()), file_(path) {}

TokenFile TokenFile::open(const std::filesystem::path& path) {
  TokenFile file(path);
  const std::span<const std::byte> bytes = file.file_.bytes();
  require(bytes.size() >= sizeof(Head), file.name_, ": no file of tokens: too short", kRemedy);
  const auto head = read_value<Head>(bytes);
  require(head.magic == kMagic, file.name_, ": no file of tokens");
  require(head.version == kVersion, file.name_, ": a file of tokens of version ", head.version, ", expected ",
          kVersion, kRemedy);
  require(head.bytes_per_token == sizeof(uint16_t) || head.bytes_per_token == sizeof(uint32_t), file.name_,
          ": damaged: ", head.bytes_per_token, " bytes per token, expected 2 or 4", kRemedy);
  require(bytes.size() >= sizeof(Head) + sizeof(Foot), file.name_, ": truncated", kRemedy);

  const auto foot = read_value<Foot>(bytes.last(sizeof(Foot)));
  require(foot.own_checksum == own_checksum(foot), file.name_, ": truncated or damaged at its end", kRemedy);
  const uint64_t room = bytes.size() - sizeof(Head) - sizeof(Foot);
  require(room % head.bytes_per_token == 0 && foot.tokens == room / head.bytes_per_token, file.name_,
          ": truncated or damaged: its ", bytes.size(), " bytes are not those of ", foot.tokens, " tokens",
          kRemedy);
  const uint64_t most = head.bytes_per_token == sizeof(uint16_t) ? kMostOfTwoBytes : kMostTypes;
  require(foot.vocabulary > 0 && foot.vocabulary <= most, file.name_, ": damaged: a vocabulary of ",
          foot.vocabulary, " tokens", kRemedy);
  constexpr uint64_t kMostText = uint64_t{1} << 62;
  require(foot.lines <= foot.tokens && foot.unknown <= foot.tokens && foot.characters <= foot.bytes &&
              foot.bytes <= kMostText,
          file.name_, ": damaged: its counts do not fit each other", kRemedy);

  file.bytes_per_token_ = static_cast<int>(head.bytes_per_token);
  file.size_ = static_cast<int64_t>(foot.tokens);
  file.vocabulary_ = static_cast<int64_t>(foot.vocabulary);
  file.counts_ = {static_cast<int64_t>(foot.characters), static_cast<int64_t>(foot.bytes),
                  static_cast<int64_t>(foot.unknown), static_cast<int64_t>(foot.lines)};
  file.checksum_ = foot.checksum;
  file.fingerprint_ = foot.fingerprint;
  return file;
}

void TokenFile::require_within(int64_t begin, int64_t end) const {
  require(begin >= 0 && begin <= end && end <= size_, name_, ": tokens ", begin, " to ", end, " of ", size_);
}

// Calls the action with a span of the tokens in their own width.
template <class Action>
auto TokenFile::with_tokens(int64_t begin, int64_t end, const Action& action) const {
  require_within(begin, end);
  const std::byte* tokens = file_.bytes().data() + sizeof(Head);
  const auto count = static_cast<size_t>(end - begin);
  // The head keeps what follows it aligned for either width.
  if (bytes_per_token_ == sizeof(uint16_t))
    return action(std::span(reinterpret_cast<const uint16_t*>(tokens) + begin, count));
  return action(std::span(reinterpret_cast<const uint32_t*>(tokens) + begin, count));
}

void TokenFile::copy(int64_t begin, int64_t count, int32_t* out) const {
  require(count >= 0 && begin >= 0 && begin <= size_ - count, name_, ": ", count, " tokens from token ",
          begin, " on, of ", size_);
  with_tokens(begin, begin + count, [&](auto tokens) {
    for (const int64_t token : tokens) {
      require(token < vocabulary_, name_, ": damaged: token ", token, " of a vocabulary of ", vocabulary_,
              kRemedy);
      *out++ = static_cast<int32_t>(token);
    }
  });
}

int64_t TokenFile::find(int32_t token, int64_t begin, int64_t end) const {
  return with_tokens(begin, end, [&](auto tokens) {
    const auto wanted = static_cast<typename decltype(tokens)::value_type>(token);
    return begin + (std::find(tokens.begin(), tokens.end(), wanted) - tokens.begin());
  });
}

void TokenFile::verify() const {
  uint64_t checksum = kChecksumSeed;
  with_tokens(0, size_, [&](auto tokens) {
    for (const int64_t token : tokens) {
      require(token < vocabulary_, name_, ": damaged: token ", token, " of a vocabulary of ", vocabulary_,
              kRemedy);
      checksum = add_to_checksum(checksum, static_cast<uint64_t>(token));
    }
  });
  require(checksum == checksum_, name_, ": damaged: the checksum of its tokens is another", kRemedy);
}

}  // namespace mega::data
