// The lines of a token file, by their number, with an index of an eighth of a byte per line: one place of
// every 64 is kept, and the lines between are found by their </s>. They are rarely longer than a page of
// memory together, which has to be read for one of them anyway.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mega/data/corpus/blocks.h"
#include "mega/data/corpus/token_file.h"
#include "mega/text/tokens.h"

namespace mega::data {

class TokenLines {
 public:
  TokenLines() = default;
  // Reads all tokens once. Tokens after the last </s> are an Error.
  explicit TokenLines(TokenView text);

  int64_t size() const { return size_; }
  const TokenView& text() const { return text_; }

  // The tokens of a line, with its </s>.
  Block line(int64_t number) const;

  // The line that follows this one, quicker than by its number. There must be one.
  Block after(const Block& line) const { return {line.end, line_end(line.end)}; }
  Block before_first() const { return {text_.begin, text_.begin}; }

  // The lengths of all lines in their order, with </s>.
  void for_each_length(const std::function<void(int64_t)>& action) const;

 private:
  int64_t line_end(int64_t begin) const { return text_.file->find(kEnd, begin, text_.end) + 1; }

  static constexpr int64_t kApart = 64;
  TokenView text_;
  int64_t size_ = 0;
  std::vector<int64_t> places_;  // where lines 0, kApart, 2 kApart, ... begin
};

}  // namespace mega::data
