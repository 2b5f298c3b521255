#include "mega/text/subwords/bpe_codes.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega {
namespace {

constexpr std::string_view kVersion = "#version:";
constexpr int32_t kNone = -1;

uint64_t key_of(int32_t first, int32_t second) {
  return uint64_t{static_cast<uint32_t>(first)} << 32 | static_cast<uint32_t>(second);
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string_view stripped(std::string_view line) {
  const size_t first = line.find_first_not_of(kBpeBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : line.substr(first, line.find_last_not_of(kBpeBlanks) + 1 - first);
}

// Whether the line, the first of a file, says version 0.1. Error where it names one that we do not have.
bool is_version_one(std::string_view line, const std::string& where) {
  std::string_view version = trim(line.substr(kVersion.size()));
  while (version.ends_with(".0")) version.remove_suffix(2);
  require(version == "0.1" || version == "0.2", where, ":1: BPE codes of version ",
          in_quotes(trim(line.substr(kVersion.size()))), "; versions 0.1 and 0.2 can be read");
  return version == "0.1";
}

size_t character_size(std::string_view text) { return first_character(text).length; }

}  // namespace

BpeCodes::BpeCodes(std::string_view text, const std::string& where)
    : end_is_a_symbol_(!text.starts_with(kVersion)) {
  size_t line_number = 0;
  if (!end_is_a_symbol_) {
    end_is_a_symbol_ = is_version_one(take_line(text), where);
    ++line_number;
  }
  while (text.ends_with('\n')) text.remove_suffix(1);
  while (!text.empty()) {
    ++line_number;
    const std::string_view line = stripped(take_line(text));
    const size_t blank = line.find(' ');
    require(blank != std::string_view::npos && line.find(' ', blank + 1) == std::string_view::npos, where,
            ":", line_number, ": expected two symbols with a blank between them, found ", in_quotes(line));
    require(valid_utf8(line) == line, where, ":", line_number, ": ", in_quotes(line), " is no UTF-8");
    require(codes_.size() < std::numeric_limits<int32_t>::max() / 4, where, ": too many codes");
    add_code(line.substr(0, blank), line.substr(blank + 1));
  }
  // subword-nmt takes a symbol apart by the first code that makes it; of codes that come twice, the last
  // place counts.
  std::unordered_map<uint64_t, bool> seen;
  for (size_t i = codes_.size(); i-- > 0;) {
    const auto [first, second] = codes_[i];
    if (seen.emplace(key_of(first, second), true).second)
      left_halves_[merges_.at(key_of(first, second)).merged] = first;
  }
}

void BpeCodes::add_code(std::string_view first, std::string_view second) {
  const auto numbered = [this](std::string symbol) {
    if (const auto found = numbers_.find(symbol); found != numbers_.end()) return found->second;
    symbols_.push_back(std::move(symbol));
    return numbers_[symbols_.back()] = static_cast<int32_t>(symbols_.size()) - 1;
  };
  const int32_t left = numbered(std::string(first)), right = numbered(std::string(second));
  const int32_t merged = numbered(std::string(first) + std::string(second));
  merges_.try_emplace(key_of(left, right), Merge{static_cast<int32_t>(codes_.size()), merged});
  codes_.emplace_back(left, right);
}

std::string BpeCodes::text() const {
  std::string text = std::string(kVersion) + (end_is_a_symbol_ ? " 0.1\n" : " 0.2\n");
  for (const auto& [first, second] : codes_) {
    text += symbols_[static_cast<size_t>(first)];
    text += ' ';
    text += symbols_[static_cast<size_t>(second)];
    text += '\n';
  }
  return text;
}

int32_t BpeCodes::number(std::string_view symbol) const {
  const auto found = numbers_.find(symbol);
  return found == numbers_.end() ? kNone : found->second;
}

int32_t BpeCodes::number_of_last(std::string_view symbol) const {
  return number(std::string(symbol) + std::string(kEndOfWord));
}

const BpeCodes::Merge* BpeCodes::merge(int32_t first, int32_t second) const {
  if (first == kNone || second == kNone) return nullptr;
  const auto found = merges_.find(key_of(first, second));
  return found == merges_.end() ? nullptr : &found->second;
}

// A word on its way from characters to symbols: parts of it, linked with their neighbours.
class BpeCodes::Word {
 public:
  Word(const BpeCodes& codes, std::string_view word) : codes_(codes), word_(word) {
    for (size_t at = 0; at < word.size(); at += parts_.back().size) {
      const std::string_view character = word.substr(at, character_size(word.substr(at)));
      add(at, character.size(), codes.number(character));
    }
    if (codes.end_is_a_symbol_) {
      add(word.size(), 0, codes.number(kEndOfWord));
    } else {
      Part& last = parts_.back();
      last.symbol = codes.number_of_last(word.substr(last.begin));
    }
    parts_.back().right = kNone;
  }

  // The first of the codes that some pair has is merged wherever that pair is, from left to right; then again
  // the first code of what is there now.
  void merge_all() {
    for (int32_t at = 0; at + 1 < static_cast<int32_t>(parts_.size()); ++at) consider(at);
    std::vector<int32_t> places;
    while (!candidates_.empty()) {
      const int32_t rank = candidates_.top().rank;
      places.clear();
      for (; !candidates_.empty() && candidates_.top().rank == rank; candidates_.pop())
        places.push_back(candidates_.top().left);
      for (const int32_t left : places) join(left, rank);
    }
  }

  void append_to(std::vector<std::string_view>& symbols) const {
    for (int32_t at = 0; at != kNone; at = part(at).right)
      if (part(at).size > 0) symbols.push_back(word_.substr(part(at).begin, part(at).size));
  }

 private:
  struct Part {
    size_t begin, size;
    int32_t symbol;
    int32_t left, right;
    bool merged_away = false;
  };

  // A pair that has a code, by its left part.
  struct Candidate {
    int32_t rank, left;

    // The least rank comes first, then the leftmost.
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
    }
  };

  Part& part(int32_t at) { return parts_[static_cast<size_t>(at)]; }
  const Part& part(int32_t at) const { return parts_[static_cast<size_t>(at)]; }

  void add(size_t begin, size_t size, int32_t symbol) {
    const auto at = static_cast<int32_t>(parts_.size());
    parts_.push_back({begin, size, symbol, at - 1, at + 1});
  }

  const Merge* merge_at(int32_t left) const {
    const Part& first = part(left);
    if (first.merged_away || first.right == kNone) return nullptr;
    return codes_.merge(first.symbol, part(first.right).symbol);
  }

  void consider(int32_t left) {
    if (left == kNone) return;
    if (const Merge* const merge = merge_at(left)) candidates_.push({merge->rank, left});
  }

  // Does nothing where a merge before this one has taken a part of the pair.
  void join(int32_t left, int32_t rank) {
    const Merge* const merge = merge_at(left);
    if (merge == nullptr || merge->rank != rank) return;
    Part& first = part(left);
    Part& second = part(first.right);
    first.size += second.size;
    first.symbol = merge->merged;
    first.right = second.right;
    second.merged_away = true;
    if (first.right != kNone) part(first.right).left = left;
    consider(first.left);
    consider(left);
  }

  const BpeCodes& codes_;
  const std::string_view word_;
  std::vector<Part> parts_;
  std::priority_queue<Candidate> candidates_;
};

void BpeCodes::segment(std::string_view word, std::vector<std::string_view>& symbols) const {
  if (word.empty()) return;
  if (character_size(word) == word.size()) {
    symbols.push_back(word);
    return;
  }
  Word parts(*this, word);
  parts.merge_all();
  parts.append_to(symbols);
}

void BpeCodes::segment(std::string_view word, const IsKnownSymbol& is_known,
                       std::vector<std::string_view>& symbols) const {
  if (word.empty() || character_size(word) == word.size()) {
    segment(word, symbols);
    return;
  }
  std::vector<std::string_view> made;
  segment(word, made);
  for (const std::string_view symbol : made)
    take_apart(symbol, symbol.end() == word.end(), is_known, symbols);
}

// 0: no code makes the symbol.
size_t BpeCodes::size_of_left_half(std::string_view symbol, bool ends_word) const {
  const auto half = [this](int32_t merged) -> size_t {
    const auto found = left_halves_.find(merged);
    return found == left_halves_.end() ? 0 : symbols_[static_cast<size_t>(found->second)].size();
  };
  if (!ends_word) return half(number(symbol));
  const size_t size = half(number_of_last(symbol));
  // In version 0.1 the last merge may have added nothing but the end mark.
  return size == symbol.size() ? half(number(symbol)) : size;
}

void BpeCodes::take_apart(std::string_view symbol, bool ends_word, const IsKnownSymbol& is_known,
                          std::vector<std::string_view>& parts) const {
  const size_t left = is_known(symbol, ends_word) ? 0 : size_of_left_half(symbol, ends_word);
  if (left == 0) {
    parts.push_back(symbol);
    return;
  }
  take_apart(symbol.substr(0, left), false, is_known, parts);
  take_apart(symbol.substr(left), ends_word, is_known, parts);
}

std::string apply_bpe(const BpeCodes& codes, std::string_view line, const IsKnownSymbol& is_known) {
  const size_t first = std::min(line.find_first_not_of(kBpeBlanks), line.size());
  std::string cut(line.substr(0, first));
  std::vector<std::string_view> symbols;
  bool begins = true;
  for_each_bpe_word(line, [&](std::string_view word) {
    symbols.clear();
    if (is_known) {
      codes.segment(word, is_known, symbols);
    } else {
      codes.segment(word, symbols);
    }
    if (!begins) cut += ' ';
    begins = false;
    for (size_t i = 0; i < symbols.size(); ++i) {
      cut += symbols[i];
      if (i + 1 < symbols.size()) (cut += kBpeJoiner) += ' ';
    }
  });
  if (first < line.size()) cut += line.substr(line.find_last_not_of(kBpeBlanks) + 1);
  return cut;
}

std::string undo_bpe(std::string_view line) {
  std::string joined;
  joined.reserve(line.size());
  while (!line.empty()) {
    const size_t joiner = line.find(kBpeJoiner);
    joined += line.substr(0, joiner);
    if (joiner == std::string_view::npos) break;
    const std::string_view after = line.substr(joiner + kBpeJoiner.size());
    if (after.empty() || after[0] == ' ') {
      line = after.substr(std::min<size_t>(after.size(), 1));
    } else {
      joined += line[joiner];
      line.remove_prefix(joiner + 1);
    }
  }
  return joined;
}

}  // namespace mega
