// Lexical shortlists: what they allow, their file, and how they are learnt from parallel text.
#include "mega/infer/translation/shortlist.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/files/safetensors.h"
#include "mega/infer/translation/lexical_model.h"
#include "tests/base/helpers.h"

namespace mega::infer {
namespace {

using mega::testing::ScratchFolder;
using Tokens = std::vector<Token>;

Tokens candidates(const Shortlist& shortlist, std::vector<Tokens> sources) {
  return shortlist.candidates(sources);
}

TEST(Shortlist, IsTheUnionOfItsWords) {
  const Shortlist shortlist({{}, {}, {}, {}, {9, 7}, {7, 8}}, {20, 6});
  EXPECT_EQ(candidates(shortlist, {{4, 2}}), Tokens({kEnd, kUnknown, 6, 7, 9, 20}));
  EXPECT_EQ(candidates(shortlist, {{4, 2}, {5, 5, 2}}), Tokens({kEnd, kUnknown, 6, 7, 8, 9, 20}));
  EXPECT_EQ(candidates(shortlist, {{2}}), Tokens({kEnd, kUnknown, 6, 20}));
  EXPECT_THROW(candidates(shortlist, {{6}}), Error);
  EXPECT_THROW(candidates(shortlist, {{-1}}), Error);
  EXPECT_THROW(Shortlist({{-3}}, {}), Error);
  EXPECT_THROW(Shortlist({}, {-3}), Error);
}

TEST(Shortlist, SurvivesItsFile) {
  const ScratchFolder folder;
  const auto path = folder / "shortlist";
  for (const Shortlist& shortlist : {Shortlist({{}, {5, 4}, {}, {3, 9, 1}}, {7, 8}), Shortlist({}, {})}) {
    shortlist.save(path);
    const Shortlist read = Shortlist::open(path);
    ASSERT_EQ(read.source_vocabulary(), shortlist.source_vocabulary());
    EXPECT_TRUE(std::equal(read.always().begin(), read.always().end(), shortlist.always().begin(),
                           shortlist.always().end()));
    for (Token t = 0; t < read.source_vocabulary(); ++t)
      EXPECT_EQ(Tokens(read.likely(t).begin(), read.likely(t).end()),
                Tokens(shortlist.likely(t).begin(), shortlist.likely(t).end()));
  }
}

TEST(Shortlist, RejectsHostileFiles) {
  const ScratchFolder folder;
  const auto path = folder / "shortlist";
  const auto write = [&](std::vector<int64_t> ends, Tokens likely, Tokens always, const char* format) {
    write_safetensors(path,
                      {{"ends", DType::I64, {std::ssize(ends)}, std::as_bytes(std::span(ends))},
                       {"likely", DType::I32, {std::ssize(likely)}, std::as_bytes(std::span(likely))},
                       {"always", DType::I32, {std::ssize(always)}, std::as_bytes(std::span(always))}},
                      {{"format", format}});
  };
  const char* const good = "mega-shortlist-1";
  write({1, 3}, {4, 5, 6}, {7}, good);
  EXPECT_EQ(Shortlist::open(path).source_vocabulary(), 2);
  write({1, 3}, {4, 5, 6}, {7}, "something else");
  EXPECT_THROW(Shortlist::open(path), Error);
  for (const std::vector<int64_t>& ends :
       {std::vector<int64_t>{1, 4}, {3, 1}, {-1, 3}, {1, 2}, {int64_t{1} << 62, 3}, {}}) {
    write(ends, {4, 5, 6}, {7}, good);
    EXPECT_THROW(Shortlist::open(path), Error);
  }
  write({1, 3}, {4, -5, 6}, {7}, good);
  EXPECT_THROW(Shortlist::open(path), Error);
  write({1, 3}, {4, 5, 6}, {-7}, good);
  EXPECT_THROW(Shortlist::open(path), Error);
  const Tokens none;
  write_safetensors(path, {{"ends", DType::I32, {0}, std::as_bytes(std::span(none))}}, {{"format", good}});
  EXPECT_THROW(Shortlist::open(path), Error);
  EXPECT_THROW(Shortlist::open(folder / "missing"), Error);
}

// Word s is translated to s + 10, and every sentence has 30 in it, which belongs to no word.
TEST(LexicalModel, FindsTranslations) {
  ShortlistOptions options;
  options.per_word = 1;
  options.frequent = 1;
  LexicalModel model(10, 40, options);
  for (Token a = 4; a < 10; ++a)
    for (Token b = 4; b < 10; ++b) EXPECT_TRUE(model.add(Tokens{a, b}, Tokens{30, b + 10, a + 10, 30}));
  const Shortlist shortlist = model.learn();
  for (Token s = 4; s < 10; ++s)
    EXPECT_EQ(Tokens(shortlist.likely(s).begin(), shortlist.likely(s).end()), Tokens({s + 10})) << s;
  EXPECT_EQ(Tokens(shortlist.always().begin(), shortlist.always().end()), Tokens({kEnd, kUnknown, 30}));
  EXPECT_TRUE(shortlist.likely(3).empty());  // never seen
}

TEST(LexicalModel, SkipsAndRejects) {
  ShortlistOptions options;
  options.longest = 3;
  options.sentences = 2;
  LexicalModel model(10, 12, options);
  EXPECT_THROW(model.learn(), Error);
  EXPECT_FALSE(model.add(Tokens{4, 4, 4, 4}, Tokens{4}));
  EXPECT_FALSE(model.add(Tokens{4}, Tokens{4, 4, 4, 4}));
  EXPECT_FALSE(model.add(Tokens{}, Tokens{4}));
  EXPECT_FALSE(model.add(Tokens{4}, Tokens{}));
  EXPECT_THROW(model.add(Tokens{10}, Tokens{4}), Error);
  EXPECT_THROW(model.add(Tokens{4}, Tokens{12}), Error);
  EXPECT_TRUE(model.add(Tokens{9}, Tokens{11}));
  EXPECT_TRUE(model.add(Tokens{9}, Tokens{11}));
  EXPECT_FALSE(model.add(Tokens{9}, Tokens{11}));
  EXPECT_EQ(model.pairs(), 2);
  EXPECT_EQ(model.learn().likely(9)[0], 11);
  options.passes = 0;
  EXPECT_THROW(LexicalModel(10, 12, options), Error);
}

}  // namespace
}  // namespace mega::infer
