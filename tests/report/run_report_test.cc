#include "mega/report/run_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

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
  report.title = "lra-text on reviews";
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
  for (const char* text : {"<title>lra-text on reviews</title>",
                           "<h1>lra-text on reviews</h1>",
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
  report.title = report.command = report.started = hostile;
  report.summary = report.configuration = {{hostile, hostile}};
  report.charts[0].title = report.charts[0].curves[0].name = hostile;
  report.classes = {hostile, hostile};
  report.worst = report.longest = {{hostile, hostile, hostile, hostile, 0, 0, 0}};
  report.notes = {hostile};
  EXPECT_PRED2(lacks, page_of(report), "<script");
  report.worst[0].probability = report.worst[0].loss = std::numeric_limits<double>::quiet_NaN();
  report.worst[0].excerpt = std::string(10'000'000, '<');
  const std::string page = page_of(report);
  EXPECT_LT(page.size(), 100'000u) << "a long excerpt is truncated";
  EXPECT_PRED2(lacks, page, "nan");
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
