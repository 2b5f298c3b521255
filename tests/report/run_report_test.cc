#include "mega/report/run_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "mega/base/options/options.h"
#include "tests/base/helpers.h"
#include "tests/base/well_formed.h"

namespace mega {
namespace {

using testing::contains;
using testing::markup_fault;

std::string page_of(const Report& report) {
  std::string page = to_html(report);
  EXPECT_EQ(markup_fault(page, {"meta"}), "");
  return page;
}

bool lacks(const std::string& text, const std::string& part) { return !contains(text, part); }

Report small_report() {
  Report report;
  report.title = "reviews";
  report.description = "Texts of 4,096 bytes";
  report.command = "mega train lra-text --train reviews.tsv";
  report.started = "2024-05-03 14:12";
  report.seconds = 8100;
  report.summary = {{"Accuracy", "88.4 %"}};
  report.configuration = {{"model.layers", "4"}};
  report.charts = {{"Loss", "step", "nats", {{"train", {{0, 1}, {1, 0.5}}}}, false}};
  report.classes = {"bad", "good"};
  report.confusion = {{8, 2}, {1, 9}};
  report.worst = {{"reviews.tsv:7", "not a bad film", "good", "bad", 0.987, 4.321, 4096}};
  report.longest = {{"reviews.tsv:9", "once upon a time", "bad", "bad", 0.5, 0.7, 12345}};
  report.decay = {{1, 2, 300}, {4, 5, 6}};
  report.notes = {"two examples were cut"};
  return report;
}

TEST(Report, ContainsAllSections) {
  const std::string page = page_of(small_report());
  for (const char* text : {"<title>reviews – Texts of 4,096 bytes</title>",
                           "<h1>reviews</h1>",
                           "<p class=\"lead\">Texts of 4,096 bytes</p>",
                           "2024-05-03 14:12, 2 h 15 min",
                           "mega train lra-text",
                           ">Accuracy</dt><dd>88.4 %<",
                           "two examples were cut",
                           "<h2>Training</h2>",
                           ">Loss</text>",
                           "<h2>Classes</h2>",
                           ">Confusion matrix</text>",
                           "<h2>Worst examples</h2>",
                           "not a bad film",
                           "98.7 %",
                           "4.321",
                           "<h2>Longest examples</h2>",
                           "12,345",
                           ">Layer 1</text>",
                           ">Layer 2</text>",
                           "<h2>Configuration</h2>",
                           ">model.layers<"})
    EXPECT_PRED2(contains, page, text);
}

TEST(Report, IsSelfContained) {
  const std::string page = page_of(small_report());
  for (const char* text : {"<script", "<link", "src=", "href=", "url(", "@import"})
    EXPECT_PRED2(lacks, page, text);
  for (const char* text :
       {"charset=\"utf-8\"", "name=\"viewport\"", "prefers-color-scheme:dark", "@media print"})
    EXPECT_PRED2(contains, page, text);
}

TEST(Report, LeavesOutEmptySections) {
  const std::string page = page_of(Report{});
  for (const char* text : {"<h2>", "<table", "<svg", "<ul", "<pre", "<dl"}) EXPECT_PRED2(lacks, page, text);
  Report report;
  report.decay = {{}, {std::numeric_limits<double>::infinity(), -1}};
  EXPECT_PRED2(lacks, page_of(report), "<h2>");
}

TEST(Report, EscapesText) {
  const std::string hostile = "</td></title><script>alert(\"1\")</script>'&\x01\x1b[31m\xff\xc3";
  Report report = small_report();
  report.title = report.description = report.command = report.started = report.preset = hostile;
  report.summary = {{hostile, hostile}};
  report.configuration = {{hostile, hostile, hostile, true}};
  report.comparison = {hostile, true, {{hostile, hostile, 1}, {hostile, hostile, 0, true}}};
  report.samples = {{1, hostile, hostile}};
  report.predictions = {{hostile, hostile, hostile, {{1, 1}}}};
  report.charts[0].title = report.charts[0].curves[0].name = hostile;
  report.classes = {hostile, hostile};
  report.worst = report.longest = {{hostile, hostile, hostile, hostile, 0, 0, 0, hostile}};
  report.notes = {hostile};
  EXPECT_PRED2(lacks, page_of(report), "<script");
  report.worst[0].probability = report.worst[0].loss = std::numeric_limits<double>::quiet_NaN();
  report.worst[0].excerpt = std::string(10'000'000, '<');
  report.samples[0].text = std::string(10'000'000, 'x');
  const std::string page = page_of(report);
  EXPECT_LT(page.size(), 100'000u) << "long texts are truncated";
  EXPECT_PRED2(lacks, page, "nan");
}

TEST(Report, TitleOrDescriptionAlone) {
  Report report;
  report.title = "runs";
  EXPECT_PRED2(contains, page_of(report), "<title>runs</title>");
  EXPECT_PRED2(lacks, page_of(report), "class=\"lead\"");
  std::swap(report.title, report.description);
  EXPECT_PRED2(contains, page_of(report), "<title>runs</title>");
  EXPECT_PRED2(contains, page_of(report), "<h1>runs</h1>");
  EXPECT_PRED2(lacks, page_of(report), "class=\"lead\"");
}

TEST(Report, ComparisonMarksTheBest) {
  Report report;
  report.comparison.metric = "test accuracy";
  report.comparison.rows = {{"mega", "84.9 %", 0.849, true}};
  EXPECT_PRED2(lacks, page_of(report), "<h2>") << "nothing to compare with";
  report.comparison.rows.push_back({"bag of n-grams (linear)", "84.1 %", 0.841});
  report.comparison.rows.push_back({"largest class", "50.0 %", 0.5});
  std::string page = page_of(report);
  EXPECT_PRED2(contains, page, "<strong>mega (this model)</strong> <span class=\"best\">best</span></td>");
  EXPECT_PRED2(contains, page, ">test accuracy</th>");
  EXPECT_PRED2(lacks, page, "better than this model");

  report.comparison.rows[1].value = 0.9;
  report.comparison.rows[1].score = "90.0 %";
  page = page_of(report);
  EXPECT_PRED2(contains, page, ">bag of n-grams (linear) <span class=\"best\">best</span></td>");
  EXPECT_PRED2(contains, page, "bag of n-grams (linear) is better than this model: 90.0 % against 84.9 %");
  EXPECT_LT(page.find("bag of n-grams"), page.find("mega (this model)")) << "the best first";
  EXPECT_LT(page.find("mega (this model)"), page.find("largest class"));

  report.comparison.higher_is_better = false;
  page = page_of(report);
  EXPECT_PRED2(contains, page, ">largest class <span class=\"best\">best</span></td>");
}

TEST(Report, ComparisonOfEqualAndUnknownScores) {
  Report report;
  report.comparison.rows = {
      {"a", "?", std::numeric_limits<double>::quiet_NaN()}, {"b", "1", 1, true}, {"c", "1", 1}};
  std::string page = page_of(report);
  EXPECT_PRED2(contains, page, ">c <span class=\"best\">best</span></td>");
  EXPECT_PRED2(contains, page, "b (this model)</strong> <span class=\"best\">best</span></td>");
  EXPECT_PRED2(contains, page, ">a</td>");
  EXPECT_PRED2(lacks, page, "better than this model");
  for (Report::ScoreRow& row : report.comparison.rows) row.value = std::numeric_limits<double>::infinity();
  EXPECT_PRED2(lacks, page_of(report), ">best<");
}

TEST(Report, ConfigurationShowsDifferencesFirst) {
  Report report;
  report.configuration = {{"model.layers", "4"}, {"train.lr", "0.1"}};
  EXPECT_PRED2(lacks, page_of(report), "<details>");
  report.preset = "text-small";
  EXPECT_PRED2(contains, page_of(report), "As in the preset text-small.");
  EXPECT_PRED2(contains, page_of(report), "<summary>All settings (2)</summary>");
  report.configuration[1] = {"train.lr", "0.1", "0.004", true};
  report.configuration.push_back({"data.path", "reviews.csv", "", true});
  const std::string page = page_of(report);
  EXPECT_PRED2(contains, page, "<caption>What differs from the preset text-small</caption>");
  EXPECT_PRED2(contains, page, ">0.004</td>");
  EXPECT_PRED2(contains, page, ">none</span></td>") << "an empty value of the preset";
  EXPECT_LT(page.find(">train.lr<"), page.find("<details>"));
  EXPECT_GT(page.find(">model.layers<"), page.find("<summary>All settings (3)</summary>"));
}

TEST(Report, SettingsBesideThoseOfThePreset) {
  const std::vector<OptionRow> preset = {{"model.layers", "", "2", "4", ""},
                                         {"train.lr", "", "1", "0.004", ""}};
  const std::vector<OptionRow> used = {{"model.layers", "", "2", "4", ""},
                                       {"train.lr", "", "1", "0.1", ""},
                                       {"model.heads", "", "2", "8", ""}};
  const std::vector<Report::Setting> settings = compare_settings(used, preset);
  ASSERT_EQ(settings.size(), 3u);
  EXPECT_FALSE(settings[0].differs);
  EXPECT_TRUE(settings[1].differs);
  EXPECT_EQ(settings[1].preset_value, "0.004");
  EXPECT_TRUE(settings[2].differs) << "not among the preset's";
  EXPECT_EQ(settings[2].preset_value, "");
  for (const Report::Setting& setting : compare_settings(used, {}))
    EXPECT_FALSE(setting.differs) << "no preset";
  EXPECT_TRUE(compare_settings({}, preset).empty());
}

TEST(Report, ExamplesShowWhatTheyAre) {
  Report report;
  report.worst = {{"a.wav", "", "yes", "no", 0.9, 2.3, 16'000, "1.00 s at 16,000 Hz", {{0, 1, -1, 0}}},
                  {"b.png", "", "yes", "no", 0.9, 2.3, 1024, "2 × 1 pixels", {}, {2, 1, 1, {0, 255}}},
                  {"c.png", "", "yes", "no", 0.9, 2.3, 1024, "damaged", {}, {9, 9, 1, {0}}}};
  const std::string page = page_of(report);
  for (const char* text :
       {">Input</th>", ">1.00 s at 16,000 Hz</div>", "class=\"mega-spark\"",
        "alt=\"2 × 1 pixels\" width=\"96\" height=\"48\" src=\"data:image/png;base64,", ">damaged</div>"})
    EXPECT_PRED2(contains, page, text);
  EXPECT_EQ(page.find("<img"), page.rfind("<img"))
      << "a picture that has another size than it says is left out";
  EXPECT_EQ(page.find("src="), page.find("src=\"data:image/png;base64,"));
}

TEST(Report, ConfusedClassesAreShownAsPictures) {
  Report report;
  const Thumbnail pixel = {1, 1, 1, {255}};
  report.confused = {
      {"<cat>", "dog", 2, 0.25, {{"a.png", "", "<cat>", "dog", 0.9, 2.3, 0, "", {}, pixel}}},
      {"dog", "cow", 1, 0.5, {{"damaged", "", "dog", "cow", 0.8, 2, 0, "", {}, {9, 9, 1, {}}}}}};
  const std::string page = page_of(report);
  for (const char* text :
       {"<h2>Most confused</h2>", "<h3>&lt;cat&gt; taken for dog: 2 pictures, 25.0 % of the class</h3>",
        "src=\"data:image/png;base64,", "a.png", "90.0 %"})
    EXPECT_PRED2(contains, page, text);
  EXPECT_PRED2(lacks, page, "damaged");
  EXPECT_PRED2(lacks, page, "taken for cow") << "a pair without pictures";
}

TEST(Report, LengthsThatAreAllTheSameAreLeftOut) {
  Report report;
  report.worst = {{"a.png", "", "2.5", "3.5", 0, 1, 0}};
  EXPECT_PRED2(lacks, page_of(report), ">Length</th>");
  report.worst[0].length = 7;
  EXPECT_PRED2(contains, page_of(report), ">Length</th>");
}

TEST(Report, TheMostFrequentConfusionsComeFirst) {
  const std::vector<Confusion> all = most_confused({{5, 1, 0}, {3, 9, 1}, {0, 2}}, 3);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].truth, 1u);
  EXPECT_EQ(all[0].predicted, 0u);
  EXPECT_EQ(all[0].count, 3);
  EXPECT_EQ(all[1].truth, 2u);
  EXPECT_EQ(all[2].count, 1);
  EXPECT_TRUE(most_confused({}, 3).empty());
}

TEST(Report, ExamplesWithoutInputOrProbability) {
  Report report;
  report.worst = {{"a.csv:1", "", "2.5", "3.5", 0, 1, 10}};
  const std::string page = page_of(report);
  EXPECT_PRED2(lacks, page, ">Input</th>");
  EXPECT_PRED2(lacks, page, ">Probability</th>") << "a regression has none";
}

TEST(Report, LongExcerptsAreCut) {
  Report report;
  report.worst = {{"a", std::string(300, 'x'), "", "", 0, 0, 0}};
  EXPECT_PRED2(contains, page_of(report), ">" + std::string(199, 'x') + "…<");
}

TEST(Report, SamplesNewestFirst) {
  Report report;
  for (const int64_t update : {100, 300, 200, 500, 400})
    report.samples.push_back({update, "Once", " upon " + std::to_string(update)});
  const std::string page = page_of(report);
  EXPECT_PRED2(contains, page, "<h3>Update 500</h3>\n<p class=\"sample\"><b>Once</b> upon 500</p>");
  EXPECT_LT(page.find("upon 500"), page.find("upon 400"));
  EXPECT_LT(page.find("upon 300"), page.find("<summary>2 earlier</summary>"));
  EXPECT_GT(page.find("upon 200"), page.find("<summary>2 earlier</summary>"));
  EXPECT_PRED2(lacks, page, "The whole text");
}

TEST(Report, LongSamplesAreFolded) {
  Report report;
  report.samples = {{1, "Once", std::string(2000, 'x') + "end"}};
  const std::string page = page_of(report);
  EXPECT_PRED2(contains, page, "<b>Once</b>" + std::string(499, 'x') + "…</p>\n<details>");
  EXPECT_PRED2(contains, page, "xend</p>\n</details>");
  report.samples.assign(1000, report.samples[0]);
  EXPECT_LT(page_of(report).size(), 500'000u);
}

TEST(Report, PredictionsOfARegression) {
  Report report;
  report.predictions = {{"output 1", "true", "predicted", {{1, 2}}}};
  EXPECT_PRED2(contains, page_of(report), "<h2>Predictions</h2>");
  EXPECT_PRED2(contains, page_of(report), "class=\"diagonal\"");
  report.predictions.assign(10, report.predictions[0]);
  EXPECT_PRED2(contains, page_of(report), ">2 more not shown<");
}

TEST(Report, ClassMetrics) {
  const std::vector<ClassMetrics> metrics = class_metrics({{8, 2, 0}, {1, 9, 0}, {3, 0, 0}});
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics[0].count, 10);
  EXPECT_DOUBLE_EQ(metrics[0].precision, 8.0 / 12);
  EXPECT_DOUBLE_EQ(metrics[0].recall, 0.8);
  EXPECT_DOUBLE_EQ(metrics[0].f1, 2 * (8.0 / 12) * 0.8 / (8.0 / 12 + 0.8));
  EXPECT_EQ(metrics[2].count, 3);
  EXPECT_EQ(metrics[2].precision, 0) << "never predicted";
  EXPECT_EQ(metrics[2].recall, 0);
  EXPECT_EQ(metrics[2].f1, 0);
  EXPECT_TRUE(class_metrics({}).empty());

  const std::vector<ClassMetrics> ragged = class_metrics({{4, 1, 1}, {}, {-7}});
  ASSERT_EQ(ragged.size(), 3u);
  EXPECT_EQ(ragged[0].count, 6);
  EXPECT_DOUBLE_EQ(ragged[0].precision, 1) << "negative counts are ignored";
}

TEST(Report, ListsConfusionsForManyClasses) {
  Report report;
  for (size_t i = 0; i < 150; ++i) {
    report.classes.push_back("kind" + std::to_string(i));
    report.confusion.emplace_back(150, 0)[i] = 100;
  }
  report.confusion[3][140] = 50;
  report.confusion[5][6] = 10;
  const std::string page = page_of(report);
  EXPECT_PRED2(lacks, page, "<svg");
  EXPECT_PRED2(
      contains, page,
      ">kind3</td><td class=\"name\">kind140</td><td class=\"number\">50</td><td class=\"number\">33.3 %<");
  EXPECT_LT(page.find(">kind140</td><td class=\"number\">50"),
            page.find(">kind6</td><td class=\"number\">10"));
  EXPECT_PRED2(contains, page, "50 more not shown");

  report.confusion.resize(30);
  for (auto& row : report.confusion) row.resize(30);
  EXPECT_PRED2(contains, page_of(report), ">Confusion matrix</text>");
}

TEST(Report, ClassesWithoutNamesGetNumbers) {
  Report report;
  report.classes = {"bad"};
  report.confusion = {{1, 0}, {0, 1}};
  EXPECT_PRED2(contains, page_of(report), ">class 1</td>");
}

}  // namespace
}  // namespace mega
