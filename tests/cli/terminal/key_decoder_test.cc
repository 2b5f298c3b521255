#include "cli/terminal/key_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace mega::cli {
namespace {

// Keys as short words, text in parentheses; neighbouring texts are one, because cuts may divide them.
std::string keys_of(const std::string& bytes, const std::function<size_t()>& piece) {
  KeyDecoder decoder;
  std::string result, text;
  const auto end_text = [&] {
    if (!text.empty()) result += "(" + text + ")";
    text.clear();
  };
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t size = std::min(piece(), bytes.size() - begin);
    decoder.add(std::string_view(bytes).substr(begin, size));
    begin += size;
    while (const auto press = decoder.next()) {
      if (press->key == Key::text) {
        EXPECT_FALSE(press->text.empty());
        text += press->text;
        continue;
      }
      end_text();
      result += " " + std::to_string(static_cast<int>(press->key)) + " ";
    }
  }
  end_text();
  return result;
}

std::string keys_of(const std::string& bytes) {
  std::mt19937 random(1);
  const std::string whole = keys_of(bytes, [&] { return bytes.size(); });
  EXPECT_EQ(keys_of(bytes, [] { return 1; }), whole);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(keys_of(bytes, [&] { return 1 + random() % 7; }), whole);
  return whole;
}

std::string key(Key key) { return " " + std::to_string(static_cast<int>(key)) + " "; }

TEST(KeyDecoder, TextAndControlKeys) {
  EXPECT_EQ(keys_of("ab\u00e9\u4e16\U0001f600\r"), "(ab\u00e9\u4e16\U0001f600)" + key(Key::enter));
  EXPECT_EQ(keys_of("a\tb"), "(a\tb)");
  EXPECT_EQ(keys_of("\x01\x05\x0b\x15\x17\x7f\x08\x04"), key(Key::line_start) + key(Key::line_end) +
                                                             key(Key::cut_to_end) + key(Key::cut_to_start) +
                                                             key(Key::cut_word_left) + key(Key::delete_left) +
                                                             key(Key::delete_left) + key(Key::end_of_input));
}

TEST(KeyDecoder, EscapeSequences) {
  EXPECT_EQ(keys_of("\x1b[A\x1b[B\x1b[C\x1b[D"),
            key(Key::previous_line) + key(Key::next_line) + key(Key::right) + key(Key::left));
  EXPECT_EQ(keys_of("\x1bOA\x1bOH\x1b[1~\x1b[F\x1b[3~"), key(Key::previous_line) + key(Key::line_start) +
                                                             key(Key::line_start) + key(Key::line_end) +
                                                             key(Key::delete_right));
  EXPECT_EQ(keys_of("\x1b[1;5D\x1b\x66\x1b\x7f"),
            key(Key::word_left) + key(Key::word_right) + key(Key::cut_word_left));
  // Unknown ones are nothing, not text.
  EXPECT_EQ(keys_of("a\x1b[15~\x1b[<0;1;1M\x1bxb\x1b[200zc"), "(abc)");
  EXPECT_EQ(keys_of("\x1b\x1b[Aa"), key(Key::previous_line) + "(a)");
}

TEST(KeyDecoder, AnEscapeAloneCanBeGivenUp) {
  KeyDecoder decoder;
  decoder.add("\x1b");
  EXPECT_FALSE(decoder.next().has_value());
  EXPECT_TRUE(decoder.is_waiting());
  decoder.give_up();
  decoder.add("b");
  EXPECT_EQ(decoder.next()->text, "b");
  EXPECT_FALSE(decoder.is_waiting());
}

TEST(KeyDecoder, APasteIsText) {
  const std::string begin = "\x1b[200~", end = "\x1b[201~";
  EXPECT_EQ(keys_of(begin + "one\r\ntwo\rthree\nfour\tfive" + end + "\r"),
            "(one\ntwo\nthree\nfour\tfive)" + key(Key::enter));
  // Control characters and escape sequences in it do nothing; it ends at its end only.
  EXPECT_EQ(keys_of(begin + "a\x03\x1b[Ab\x1b[201" + end + "c"), "(a[Ab[201c)");
  EXPECT_EQ(keys_of(begin + end + "x"), "(x)");
}

TEST(KeyDecoder, WhatIsNotTextIsLeftOut) {
  EXPECT_EQ(keys_of("a\xff\xfe\x80"
                    "b"),
            "(ab)");
  EXPECT_EQ(keys_of("a\xc2\x9b"
                    "31mb"),
            "(a31mb)");  // U+009B would begin a sequence on some terminals
  EXPECT_EQ(keys_of(std::string("a\0b", 3)), "(ab)");
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    std::string noise;
    for (int j = 0; j < 200; ++j) noise += static_cast<char>(random() % 8 == 0 ? 27 : random());
    keys_of(noise);
  }
}

}  // namespace
}  // namespace mega::cli
