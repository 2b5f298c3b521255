#include "mega/data/vocabulary.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using Tokens = std::vector<Token>;

std::vector<Record> texts() {
  std::vector<Record> records(3);
  records[0].bytes = "the cat\nsat";
  records[0].second = "on the mat";
  records[1].bytes = "the\r\ncat";
  records[2].second = "the rat\n";
  return records;
}

TEST(LearnVocabulary, TakesBothTextsOfAPair) {
  const auto words = learn_vocabulary({.units = TextUnits::words}, Part(texts()));
  EXPECT_EQ(words->vocabulary(), "the\ncat\nmat\non\nrat\nsat\n");
  EXPECT_EQ(words->encode_document("the\nmat", 0), (Tokens{4, 6, kEnd}));
  const auto frequent =
      learn_vocabulary({.units = TextUnits::words, .vocabulary = 6, .min_count = 2}, Part(texts()));
  EXPECT_EQ(frequent->vocabulary(), "the\ncat\n");
}

TEST(LearnVocabulary, ReadsDocumentsAsTheModelWill) {
  const auto characters = learn_vocabulary({.units = TextUnits::characters}, Part(texts()));
  EXPECT_FALSE(contains(characters->vocabulary(), "\r"));
  for (const Record& record : texts())
    for (const std::string& text : {record.bytes, record.second})
      for (const Token token : characters->encode_document(text, 0)) EXPECT_NE(token, kUnknown);
}

TEST(LearnVocabulary, LearnsPieces) {
  const auto pieces = learn_vocabulary({.units = TextUnits::sentencepiece}, Part(texts()));
  EXPECT_GT(pieces->size(), 260);
  EXPECT_LT(pieces->size(), 400) << "no more than there are";
  EXPECT_LT(pieces->document_length("the cat sat on the mat", 0), 22);
  EXPECT_EQ(learn_vocabulary({.units = TextUnits::sentencepiece}, Part(texts()))->vocabulary(),
            pieces->vocabulary());
}

TEST(LearnVocabulary, NeedsNoTextWhereItIsKnown) {
  EXPECT_EQ(learn_vocabulary({.units = TextUnits::bytes}, Part())->size(), 260);
  EXPECT_EQ(learn_vocabulary({.units = TextUnits::listops}, Part())->size(), 19);

  const testing::ScratchFolder folder;
  const auto pieces = learn_vocabulary({.units = TextUnits::sentencepiece}, Part(texts()));
  write_file(folder / "pieces.model", pieces->vocabulary());
  const auto ready = learn_vocabulary(
      {.units = TextUnits::sentencepiece, .model = (folder / "pieces.model").string()}, Part());
  EXPECT_EQ(ready->vocabulary(), pieces->vocabulary());
}

TEST(LearnVocabulary, WithoutAnyTextIsAnError) {
  EXPECT_PRED2(contains, error_of([] { learn_vocabulary({.units = TextUnits::words}, Part()); }),
               "has no word");
  EXPECT_PRED2(contains, error_of([] { learn_vocabulary({.units = TextUnits::sentencepiece}, Part()); }),
               "nothing that SentencePiece can learn from");
  EXPECT_PRED2(contains, error_of([] {
                 learn_vocabulary({.units = TextUnits::words, .model = "pieces.model"}, Part());
               }),
               "set input.units=sentencepiece");
}

}  // namespace
}  // namespace mega::data
