// Our metrics against published ones, on whole test sets.
//
// MEGA_BLEU_DIR names a folder that holds TEST.SRC-TGT/ (such as newstest2017.en-de): translations
// TEST.SYSTEM.TGT, the reference TEST.ref.TGT and expected_bleu.tsv, a row per system, tokenisation and case
// with scores and counts of n-grams, made by sacreBLEU. Without the variable, nothing is tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "mega/base/files/stream.h"
#include "mega/base/strings.h"
#include "mega/text/metrics/bleu.h"
#include "mega/text/metrics/bootstrap.h"

namespace mega {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines read_lines(const fs::path& path) {
  Lines lines;
  LineReader reader(path);
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

// "newstest2017.en-de": names of its files.
struct TestSet {
  explicit TestSet(fs::path where) : folder(std::move(where)) {
    const std::string name = folder.filename().string();
    const size_t dot = name.rfind('.'), hyphen = name.rfind('-');
    test = name.substr(0, dot);
    pair = name.substr(dot + 1);
    target = name.substr(hyphen + 1);
    reference = read_lines(folder / (test + ".ref." + target));
  }

  // A system is called TEST.SYSTEM.SRC-TGT.
  Lines system(const std::string& name) const {
    return read_lines(folder / (name.substr(0, name.size() - pair.size()) + target));
  }

  fs::path folder;
  std::string test, pair, target;
  Lines reference;
};

class Published : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("MEGA_BLEU_DIR");
    if (folder == nullptr || *folder == '\0')
      GTEST_SKIP() << "MEGA_BLEU_DIR does not name a folder of test sets";
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (fs::exists(entry.path() / "expected_bleu.tsv")) sets_.emplace_back(entry.path());
    }
    ASSERT_FALSE(sets_.empty()) << folder << " has no folder with expected_bleu.tsv";
  }

  std::vector<TestSet> sets_;
};

std::string counts_text(const std::vector<double>& counts) {
  Lines parts;
  for (const double count : counts) parts.push_back(std::to_string(static_cast<int64_t>(count)));
  return join(parts, ",");
}

TEST_F(Published, Bleu) {
  for (const TestSet& set : sets_) {
    const Lines table = read_lines(set.folder / "expected_bleu.tsv");
    const Lines header = split(table.at(0), '\t');
    for (size_t i = 1; i < table.size(); ++i) {
      const Lines cells = split(table[i], '\t');
      ASSERT_EQ(cells.size(), header.size()) << table[i];
      std::map<std::string, std::string> row;
      for (size_t c = 0; c < cells.size(); ++c) row[header[c]] = cells[c];
      const Bleu metric(
          {.tokenize = parse_enum<BleuTokens>(row["tokenize"]), .lowercase = row["case"] == "lc"});
      const BleuScore bleu = metric.details(
          sum_of(corpus_statistics(metric, set.system(row["system"]), std::vector<Lines>{set.reference})));
      EXPECT_NEAR(bleu.score, std::stod(row["bleu"]), 1e-6) << table[i];
      EXPECT_NEAR(bleu.brevity_penalty, std::stod(row["bp"]), 1e-6) << table[i];
      EXPECT_EQ(bleu.hypothesis_length, std::stod(row["sys_len"])) << table[i];
      EXPECT_EQ(bleu.reference_length, std::stod(row["ref_len"])) << table[i];
      EXPECT_EQ(counts_text(bleu.matches), row["counts"]) << table[i];
      EXPECT_EQ(counts_text(bleu.totals), row["totals"]) << table[i];
    }
  }
}

// Of newstest2017.en-de: chrF by chrF++.py, TER by tercom, as listed in sacreBLEU's test.sh; p-values against
// LIUM-NMT by Moses' bootstrap, without tokenisation, as listed in its test_significance.py.
struct PublishedScores {
  const char* system;
  double chrf, ter, p_value;
};
constexpr PublishedScores kPublished[] = {
    {"LIUM-NMT.4900", 55.9284, 63.3, -1},
    {"FBK.4870", 54.7152, 63.6, 0.01267},
    {"LMU-nmt-reranked.4934", 56.3908, 61.8, 0.04383},
    {"LMU-nmt-single.4893", 55.9216, 62.6, 0.20783},
    {"RWTH-nmt-ensemble.4921", 55.6116, 62.8, 0.01167},
    {"SYSTRAN.4847", 55.5758, 61.1, 0.20983},
    {"TALP-UPC.4834", 51.6860, 68.5, 0},
    {"online-A.0", 52.0023, 69.0, 0},
    {"online-B.0", 56.2633, 63.2, 0.38100},
    {"online-G.0", 51.5871, 73.3, 0},
    {"uedin-nmt.4722", 57.7227, 61.2, 0},
};

TEST_F(Published, ChrfTerAndSignificance) {
  const auto set = std::find_if(sets_.begin(), sets_.end(), [](const TestSet& candidate) {
    return candidate.folder.filename() == "newstest2017.en-de";
  });
  if (set == sets_.end()) GTEST_SKIP() << "MEGA_BLEU_DIR has no newstest2017.en-de";
  const auto chrf = make_metric(MetricKind::chrf, {}), ter = make_metric(MetricKind::ter, {}),
             bleu = make_metric(MetricKind::bleu, {.tokenize = BleuTokens::none});
  const std::vector<Lines> reference = {set->reference};
  std::vector<std::vector<Statistics>> systems;
  for (const PublishedScores& row : kPublished) {
    const Lines lines = set->system("newstest2017." + std::string(row.system) + ".en-de");
    EXPECT_NEAR(chrf->score(sum_of(corpus_statistics(*chrf, lines, reference))), row.chrf, 6e-5)
        << row.system;
    EXPECT_NEAR(ter->score(sum_of(corpus_statistics(*ter, lines, reference))), row.ter, 0.0501) << row.system;
    systems.push_back(corpus_statistics(*bleu, lines, reference));
  }
  const auto results = paired_bootstrap(*bleu, systems, {.samples = 2000});
  for (size_t s = 1; s < results.size(); ++s)
    EXPECT_NEAR(*results[s].p_value, kPublished[s].p_value, 0.01) << kPublished[s].system;
}

}  // namespace
}  // namespace mega
