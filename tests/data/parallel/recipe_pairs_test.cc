#include "mega/data/parallel/recipe_pairs.h"

#include "tests/data/parallel/pair_files.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;

class RecipePairsTest : public PairFilesTest {};

TEST_F(RecipePairsTest, TheSignatureHasWhatTheDataSaid) {
  put("m/train.en", "a house\n");
  put("m/train.de", "ein haus\n");
  Recipe recipe;
  recipe.data = data("m");
  recipe.data.memory = 12345;
  for (const bool joint : {true, false}) {
    TranslationInput input = translation(TextUnits::words, "", "en");
    input.joint = joint;
    recipe.input.input = input;
    const ParallelCorpus corpus = load_parallel(parallel_request(recipe));
    const Signature signature = make_signature(recipe, corpus);
    const auto& said = std::get<TranslationInput>(signature.input.input);
    EXPECT_EQ(said.source_language, "de");
    EXPECT_EQ(said.target_language, "en");
    EXPECT_EQ(signature.data.path, recipe.data.path);
    EXPECT_EQ(signature.data.memory, -1);
    EXPECT_EQ(signature.target_vocabulary.empty(), joint);
    const TranslationTokenizers again = make_tokenizers(signature, 100, 100);
    EXPECT_EQ(again.source->vocabulary(), corpus.tokenizers.source->vocabulary());
    EXPECT_EQ(again.target->vocabulary(), corpus.tokenizers.target->vocabulary());
  }
}

TEST_F(RecipePairsTest, LinesArePreparedAsTheInputSays) {
  put("m/train.en", "a house, “red”.\n");
  put("m/train.de", "ein haus, „rot“.\n");
  Recipe recipe;
  recipe.data = data("m");
  TranslationInput input = translation(TextUnits::words, "en", "de");
  const auto texts = [&] {
    recipe.input.input = input;
    const ParallelCorpus corpus = load_parallel(parallel_request(recipe));
    return texts_of(corpus, corpus.train).at(0);
  };
  EXPECT_EQ(texts(), "a house, “red”. | ein haus, „rot“.");
  input.tokenize = WordCutting::moses;
  EXPECT_EQ(texts(), "a house , “ red ” . | ein haus , „ rot “ .");
  input.normalize = true;
  EXPECT_EQ(texts(), "a house , &quot; red . &quot; | ein haus , &quot; rot &quot; .")
      << "by the rules of each language: in English, a full stop stands within quotation marks";
  EXPECT_EQ(target_text(input).language, "de");
  EXPECT_EQ(source_text(input).language, "en");
  input.source_language = "";
  EXPECT_PRED2(contains, error_of([&] { texts(); }), "depend on the languages");
}

TEST_F(RecipePairsTest, OtherInputIsRefused) {
  Recipe recipe;
  EXPECT_PRED2(contains, error_of([&] { parallel_request(recipe); }), "set input.kind = translation");
}

}  // namespace
}  // namespace mega::data
