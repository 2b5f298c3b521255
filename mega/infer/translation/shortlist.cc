#include "mega/infer/translation/shortlist.h"

#include <algorithm>
#include <cstring>

#include "mega/base/error.h"
#include "mega/base/files/safetensors.h"

namespace mega::infer {
namespace {

constexpr const char* kFormatKey = "format";
constexpr const char* kFormat = "mega-shortlist-1";
constexpr const char* kEnds = "ends";      // (source vocabulary): where the list of each source token ends
constexpr const char* kLikely = "likely";  // the lists, one after the other
constexpr const char* kAlways = "always";

template <class Number>
std::vector<Number> numbers(const Safetensors& file, const char* name, DType type) {
  const TensorView& tensor = file.at(name);
  require(tensor.dtype == type, name, " is ", to_string(tensor.dtype), ", expected ", to_string(type));
  std::vector<Number> values(static_cast<size_t>(tensor.elements()));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

void sort_distinct(std::vector<Token>& tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

Shortlist read(const Safetensors& file) {
  const auto format = file.metadata().find(kFormatKey);
  require(format != file.metadata().end() && format->second == kFormat, "is no file of `mega shortlist`");
  const auto ends = numbers<int64_t>(file, kEnds, DType::I64);
  const auto all = numbers<Token>(file, kLikely, DType::I32);
  std::vector<std::vector<Token>> likely;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    require(end >= begin && end <= std::ssize(all), "is damaged: a list of tokens from ", begin, " to ", end,
            " of ", all.size());
    likely.emplace_back(all.begin() + begin, all.begin() + end);
    begin = end;
  }
  require(begin == std::ssize(all), "is damaged: ", std::ssize(all) - begin, " tokens belong to no list");
  return {std::move(likely), numbers<Token>(file, kAlways, DType::I32)};
}

}  // namespace

Shortlist::Shortlist(std::vector<std::vector<Token>> likely, std::vector<Token> always)
    : likely_(std::move(likely)), always_(std::move(always)) {
  always_.insert(always_.end(), {kEnd, kUnknown});
  sort_distinct(always_);
  const auto check = [](const std::vector<Token>& tokens) {
    for (const Token token : tokens) require(token >= 0, "a shortlist with the token ", token);
  };
  check(always_);
  for (const auto& tokens : likely_) check(tokens);
}

Shortlist Shortlist::open(const std::filesystem::path& path) {
  const Safetensors file = Safetensors::open(path);
  try {
    return read(file);
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
}

void Shortlist::save(const std::filesystem::path& path) const {
  std::vector<int64_t> ends;
  std::vector<Token> all;
  for (const auto& tokens : likely_) {
    all.insert(all.end(), tokens.begin(), tokens.end());
    ends.push_back(std::ssize(all));
  }
  write_safetensors(path,
                    {{kEnds, DType::I64, {std::ssize(ends)}, std::as_bytes(std::span(ends))},
                     {kLikely, DType::I32, {std::ssize(all)}, std::as_bytes(std::span(all))},
                     {kAlways, DType::I32, {std::ssize(always_)}, std::as_bytes(std::span(always_))}},
                    {{kFormatKey, kFormat}});
}

std::vector<Token> Shortlist::candidates(std::span<const std::vector<Token>> sources) const {
  std::vector<Token> words;
  for (const auto& source : sources) words.insert(words.end(), source.begin(), source.end());
  sort_distinct(words);
  std::vector<Token> tokens = always_;
  for (const Token word : words) {
    require(word >= 0 && word < source_vocabulary(), "token ", word, " is outside 0 to ",
            source_vocabulary() - 1, ", the source vocabulary of the shortlist");
    const auto own = likely(word);
    tokens.insert(tokens.end(), own.begin(), own.end());
  }
  sort_distinct(tokens);
  return tokens;
}

}  // namespace mega::infer
