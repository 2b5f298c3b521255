#include "mega/infer/translation/alignment.h"

#include <gtest/gtest.h>

#include "mega/base/error.h"
#include "mega/infer/translation/repeats.h"

namespace mega::infer {
namespace {

using Words = std::vector<std::string>;
using Places = std::vector<int64_t>;

TEST(Alignment, IsTheHighestWeightButNotTheEnd) {
  EXPECT_EQ(aligned_position({}), -1);
  EXPECT_EQ(aligned_position(std::vector<float>{0.2f}), 0);
  EXPECT_EQ(aligned_position(std::vector<float>{0.1f, 0.2f, 0.7f}), 1);
  EXPECT_EQ(aligned_position(std::vector<float>{0.4f, 0.4f, 0.2f}), 0);
}

TEST(Alignment, InTheFormOfPharaoh) {
  EXPECT_EQ(pharaoh(Places{0, 2, 1, 0}), "0-0 2-1 1-2");
  EXPECT_EQ(pharaoh(Places{0}), "");
  EXPECT_EQ(pharaoh(Places{}), "");
  // Tokens 0 and 1 of the source are one word, and so are 1 and 2 of the target.
  EXPECT_EQ(pharaoh(Places{2, 0, 1, 0}, Places{0, 0, 1}, Places{0, 1, 1}), "1-0 0-1");
  EXPECT_EQ(pharaoh(Places{0, 0}, Places{}, Places{0}), "");  // only </s> to align to
  EXPECT_THROW(pharaoh(Places{0, 0, 0}, Places{0}, Places{0}), Error);
}

TEST(Alignment, ReplacesUnknownWords) {
  EXPECT_EQ(replace_unknown(Words{"ein", "<unk>", "<unk>"}, Words{"a", "Kiwi"}, Places{0, 1, 5, 0}, "<unk>"),
            Words({"ein", "Kiwi", "<unk>"}));
  EXPECT_EQ(replace_unknown(Words{"<unk>"}, Words{"a"}, Places{}, "<unk>"), Words({"<unk>"}));
}

TEST(Repeats, CompleteAnNGram) {
  using Tokens = std::vector<Token>;
  const Tokens tokens = {5, 6, 7, 5, 6, 8, 5, 6};
  EXPECT_EQ(repeats(tokens, 0), Tokens());
  EXPECT_EQ(repeats(tokens, 1), tokens);
  EXPECT_EQ(repeats(tokens, 2), Tokens({7, 8}));
  EXPECT_EQ(repeats(tokens, 3), Tokens({7, 8}));
  EXPECT_EQ(repeats(tokens, 4), Tokens());
  EXPECT_EQ(repeats(tokens, 8), Tokens());
  EXPECT_EQ(repeats(tokens, 100), Tokens());
  EXPECT_EQ(repeats({}, 1), Tokens());
}

}  // namespace
}  // namespace mega::infer
