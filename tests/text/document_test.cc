#include "mega/text/tokens.h"

#include <gtest/gtest.h>

namespace mega {
namespace {

using Tokens = std::vector<int32_t>;

TextInput bytes(int64_t max_length = 0) { return {TextUnits::bytes, max_length}; }
TextInput listops(int64_t max_length = 0) { return {TextUnits::listops, max_length}; }

TEST(Tokens, HaveTheReleasedNumbers) {
  EXPECT_EQ(token_types(TextUnits::bytes), 260);
  EXPECT_EQ(token_types(TextUnits::listops), 19);
  EXPECT_EQ(tokenize("", bytes()), Tokens{kEnd});
  EXPECT_EQ(tokenize(std::string_view("\0A\n\xFF", 4), bytes()), (Tokens{4, 69, 14, 259, 2}));
}

TEST(Tokens, AreTheWordsOfListOps) {
  EXPECT_EQ(tokenize("[MAX 0 9 [MED 1 ] [MIN [SM ]", listops()),
            (Tokens{15, 4, 13, 16, 5, 14, 17, 18, 14, kEnd}));
  // Round brackets are how the published files nest; they say nothing that the others do not.
  EXPECT_EQ(tokenize("( ( ( [MAX 2 ) 9 ) ] )", listops()), tokenize("[MAX 2 9 ]", listops()));
  EXPECT_EQ(tokenize("(7)\t8\r\n", listops()), (Tokens{11, 12, kEnd}));
  EXPECT_EQ(tokenize("", listops()), Tokens{kEnd});
  EXPECT_EQ(tokenize(" () ", listops()), Tokens{kEnd});
  EXPECT_EQ(tokenize("10 [max word 3", listops()), (Tokens{kUnknown, kUnknown, kUnknown, 7, kEnd}));
}

TEST(Tokens, AreCutBeforeTheEnd) {
  EXPECT_EQ(tokenize("abc", bytes(4)), (Tokens{101, 102, 103, kEnd}));
  EXPECT_EQ(tokenize("abc", bytes(3)), (Tokens{101, 102, kEnd}));
  EXPECT_EQ(tokenize("abc", bytes(1)), Tokens{kEnd});
  EXPECT_EQ(tokenize("1 2 3", listops(3)), (Tokens{5, 6, kEnd}));
  EXPECT_EQ(tokenize("1 2 3", listops(1)), Tokens{kEnd});
}

TEST(Tokens, AreCountedWithoutMakingThem) {
  for (const char* text : {"", "a", "abc", " [MAX 1 ( 2 ) ] ", "1 2 3 4 5 6 7 8 9"}) {
    for (const int64_t most : {0, 1, 2, 3, 4, 5, 1000}) {
      for (const TextUnits units : {TextUnits::bytes, TextUnits::listops}) {
        const TextInput input{units, most};
        EXPECT_EQ(count_tokens(text, input), std::ssize(tokenize(text, input))) << text << " " << most;
      }
    }
  }
}

TEST(Tokens, AreBelowTheNumberOfTypes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const TextUnits units : {TextUnits::bytes, TextUnits::listops})
    for (const int32_t token : tokenize(all, {units, 0})) {
      EXPECT_GE(token, 0);
      EXPECT_LT(token, token_types(units));
    }
}

}  // namespace
}  // namespace mega
