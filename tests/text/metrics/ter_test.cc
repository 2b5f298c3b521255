#include "mega/text/metrics/ter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "mega/text/metrics/edit_distance.h"

namespace mega {
namespace {

using Lines = std::vector<std::string>;

double score_of(const Lines& hypotheses, const std::vector<Lines>& references) {
  return Ter().score(sum_of(corpus_statistics(Ter(), hypotheses, references)));
}

// sacreBLEU's test/test_ter.py.
TEST(Ter, PublishedCases) {
  EXPECT_EQ(score_of({"aaaa bbbb cccc dddd"}, {{"aaaa bbbb cccc dddd"}}), 0);
  EXPECT_EQ(score_of({"dddd eeee ffff"}, {{"aaaa bbbb cccc"}}), 100);
  EXPECT_EQ(score_of({""}, {{"a"}}), 100);
  EXPECT_EQ(score_of({"d e f g h a b c"}, {{"a b c d e f g h"}}), 12.5) << "one shift";
  // The first, third and fourth sentence of its example of WMT 2019; with two that are equal they give 13.6.
  const Lines hypotheses = {
      "wählen Sie \" Bild neu berechnen , \" um beim Ändern der Bildgröße Pixel hinzuzufügen oder zu "
      "entfernen , "
      "damit das Bild ungefähr dieselbe Größe aufweist wie die andere Größe .",
      "wenn Sie alle Aufgaben im aktuellen Dokument aktualisieren möchten , wählen Sie im Menü des "
      "Aufgabenbedienfelds die Option \" Alle Aufgaben aktualisieren . \"",
      "klicken Sie auf der Registerkarte \" Optionen \" auf die Schaltfläche \" Benutzerdefiniert \" und "
      "geben Sie "
      "Werte für \" Fehlerkorrektur-Level \" und \" Y / X-Verhältnis \" ein .",
      "Sie können beispielsweise ein Dokument erstellen , das ein Auto über die Bühne enthält .",
      "wählen Sie im Dialogfeld \" Neu aus Vorlage \" eine Vorlage aus und klicken Sie auf \" Neu . \""};
  Lines references = hypotheses;
  references[0] =
      "wählen Sie \" Bild neu berechnen , \" um beim Ändern der Bildgröße Pixel hinzuzufügen oder zu "
      "entfernen , "
      "damit die Darstellung des Bildes in einer anderen Größe beibehalten wird .";
  references[2] =
      "klicken Sie auf der Registerkarte \" Optionen \" auf die Schaltfläche \" Benutzerdefiniert \" und "
      "geben Sie "
      "für \" Fehlerkorrektur-Level \" und \" Y / X-Verhältnis \" niedrigere Werte ein .";
  references[3] =
      "Sie können beispielsweise ein Dokument erstellen , das ein Auto enthalt , das sich über die Bühne "
      "bewegt .";
  EXPECT_NEAR(score_of(hypotheses, {references}), 13.6, 1e-3);
}

TEST(Ter, CaseAndEmptyLines) {
  EXPECT_EQ(score_of({"The ÜBER Dog"}, {{"the über dog"}}), 0) << "case does not count";
  EXPECT_EQ(score_of({"dog."}, {{"dog ."}}), 100) << "two edits of two words: punctuation belongs to a word";
  EXPECT_EQ(score_of({""}, {{""}}), 0);
  EXPECT_EQ(score_of({"a b"}, {{""}}), 100) << "no length to divide by";
  EXPECT_EQ(score_of({"a b", "c"}, {{"", "c"}}), 200);
  EXPECT_EQ(Ter().score({}), 0);
}

// By hand: the second reference needs one edit; the mean of the lengths 2 and 4 is 3.
TEST(Ter, SeveralReferences) {
  EXPECT_EQ(Ter().statistics("a b c", Lines{"x y", "a b c d"}), (Statistics{1, 3}));
}

// By hand: moving "a b" behind "x" (one edit) saves three: without it, two words are left out and two added.
TEST(Ter, ShiftsCountOnce) {
  EXPECT_EQ(Ter().statistics("a b x y z", Lines{"x a b y z"})[0], 1);
  EXPECT_EQ(Ter().statistics("a b x y z q", Lines{"x a b y z"})[0], 2);
}

// Within the band, and with any hypothesis before, the distance is Levenshtein's.
TEST(BeamEditDistance, IsLevenshteinsForShortSentences) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> reference(random() % 12), hypothesis(random() % 12);
    BeamEditDistance distance(reference, hypothesis.size());
    for (int32_t& word : reference) word = static_cast<int32_t>(random() % 4);
    for (int again = 0; again < 3; ++again) {
      for (int32_t& word : hypothesis)
        if (random() % 2 == 0) word = static_cast<int32_t>(random() % 4);
      std::vector<int64_t> row(reference.size() + 1);
      for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
      for (const int32_t word : hypothesis) {
        int64_t diagonal = row[0]++;
        for (size_t j = 0; j < reference.size(); ++j) {
          const int64_t replaced = diagonal + (word != reference[j]);
          diagonal = row[j + 1];
          row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
      }
      ASSERT_EQ(distance.distance(hypothesis), row.back());
      int64_t edits = 0;
      for (const Edit edit : distance.edits()) edits += edit != Edit::keep;
      ASSERT_EQ(edits, row.back());
    }
  }
}

TEST(Ter, VeryDifferentLengths) {
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "w" + std::to_string(i % 700) + " ";
  EXPECT_EQ(Ter().statistics("w5", Lines{many}), (Statistics{2999, 3000}));
  EXPECT_EQ(Ter().statistics(many, Lines{"w5"})[0], 2999);
  EXPECT_EQ(Ter().statistics(many, Lines{many})[0], 0);
}

}  // namespace
}  // namespace mega
