#include "mega/data/generators/listops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "mega/base/files/file.h"
#include "mega/data/readers/readers.h"
#include "tests/base/helpers.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

using ::mega::testing::contains;
using ::mega::testing::error_of;
using ::mega::testing::ScratchFolder;

// Works an expression out with a stack, from its text alone: shares nothing with the generator.
int evaluate(const std::string& text) {
  struct Open {
    std::string name;
    std::vector<int> arguments;
  };
  std::vector<Open> open = {{"", {}}};
  std::istringstream tokens(text);
  for (std::string token; tokens >> token;) {
    if (token == "(" || token == ")") continue;
    if (token[0] == '[') {
      open.push_back({token.substr(1), {}});
    } else if (token == "]") {
      const std::string name = open.back().name;
      std::vector<int> list = open.back().arguments;
      open.pop_back();
      std::sort(list.begin(), list.end());
      const size_t half = list.size() / 2;
      int value = -1;
      if (name == "MIN") value = list.front();
      if (name == "MAX") value = list.back();
      if (name == "MED") value = list.size() % 2 ? list[half] : (list[half - 1] + list[half]) / 2;
      if (name == "SM") {
        value = 0;
        for (const int digit : list) value = (value + digit) % 10;
      }
      open.back().arguments.push_back(value);
    } else {
      open.back().arguments.push_back(std::stoi(token));
    }
  }
  EXPECT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].arguments.size(), 1U);
  return open[0].arguments.at(0);
}

int64_t count_tokens(const std::string& text) {
  std::istringstream words(text);
  int64_t count = 0;
  for (std::string word; words >> word;) count += word != "(" && word != ")";
  return count;
}

TEST(ListOps, EvaluatorOfThisTest) {
  EXPECT_EQ(evaluate("[MAX 2 9 [MIN 4 7 ] 0 ]"), 9);
  EXPECT_EQ(evaluate("[MED 1 4 ]"), 2);
  EXPECT_EQ(evaluate("( ( ( ( [SM 8 ) 7 ) 6 ) ] )"), 1);
}

TEST(ListOps, ValuesAndLengthsAreRight) {
  ListOpsGenerator generator({}, 1);
  for (int i = 0; i < 300; ++i) {
    const ListOpsExample example = generator.next();
    ASSERT_EQ(example.value, evaluate(example.source)) << example.source;
    ASSERT_EQ(example.length, count_tokens(example.source));
    ASSERT_GT(example.length, 500);
    ASSERT_LT(example.length, 2000);
    ASSERT_EQ(listops_error(example.source), std::nullopt);
  }
}

// Short expressions reach every operator, also with an even number of arguments.
TEST(ListOps, ShortExpressions) {
  ListOpsGenerator generator({.depth = 3, .arguments = 4, .min_length = 0, .max_length = 30}, 2);
  std::set<std::string> sources;
  for (int i = 0; i < 3000; ++i) {
    const ListOpsExample example = generator.next();
    ASSERT_EQ(example.value, evaluate(example.source)) << example.source;
    ASSERT_EQ(example.length, count_tokens(example.source));
    sources.insert(example.source);
  }
  for (int digit = 0; digit < 10; ++digit) EXPECT_TRUE(sources.contains(std::to_string(digit)));
  for (const char* name : {"[MIN", "[MAX", "[MED", "[SM"}) {
    EXPECT_TRUE(
        std::any_of(sources.begin(), sources.end(), [&](const auto& s) { return contains(s, name); }));
  }
}

TEST(ListOps, BranchesInTwosAsPublished) {
  ListOpsGenerator generator({.depth = 2, .arguments = 2, .min_length = 3, .max_length = 5}, 3);
  const std::string source = generator.next().source;
  ASSERT_EQ(source.substr(0, 7), "( ( ( [");
  const size_t name_end = source.find(' ', 7);
  const std::string rest = source.substr(name_end);
  EXPECT_EQ(rest.substr(2, 3), " ) ");
  EXPECT_EQ(rest.substr(6), " ) ] )");
}

// Long Range Arena's law: mean length 1036; 0 and 9 are about 17 % each.
TEST(ListOps, FollowsThePublishedLaw) {
  ListOpsGenerator generator({}, 4);
  constexpr int kCount = 4000;
  double length = 0;
  std::array<int, 10> labels{};
  for (int i = 0; i < kCount; ++i) {
    const ListOpsExample example = generator.next();
    length += static_cast<double>(example.length) / kCount;
    ++labels[static_cast<size_t>(example.value)];
  }
  EXPECT_NEAR(length, 1036, 30);
  EXPECT_NEAR(labels[0], 0.175 * kCount, 0.025 * kCount);
  EXPECT_NEAR(labels[9], 0.17 * kCount, 0.025 * kCount);
  for (size_t digit = 1; digit < 9; ++digit) EXPECT_NEAR(labels[digit], 0.08 * kCount, 0.03 * kCount);
}

// The first expression of a seed is a promise: data made elsewhere must be the same.
TEST(ListOps, IsTheSameEverywhere) {
  const ListOpsOptions options{.depth = 3, .arguments = 3, .min_length = 5, .max_length = 12};
  EXPECT_EQ(listops_tokens(ListOpsGenerator(options, 7).next().source), "[MAX [SM 5 3 ] 7 ]");
  EXPECT_NE(ListOpsGenerator({}, 1).next().source, ListOpsGenerator({}, 2).next().source);
}

TEST(ListOps, ImpossibleOptionsAreAnErrorSoon) {
  const auto next = [](const ListOpsOptions& options) {
    return error_of([&] { ListOpsGenerator(options, 1).next(); });
  };
  EXPECT_PRED2(contains, next({.depth = 2, .arguments = 10}), "could be found");
  EXPECT_PRED2(contains, next({.min_length = 1, .max_length = 4}), "could be found");
  EXPECT_PRED2(contains, next({.min_length = 500, .max_length = 501}), "no length is more than");
  EXPECT_PRED2(contains, next({.depth = 0}), "depth");
  EXPECT_PRED2(contains, next({.arguments = 1}), "arguments");
  // Every tree outgrows the bound, and would be of astronomic size without it.
  EXPECT_PRED2(contains, next({.depth = 100, .arguments = 1000, .min_length = 1, .max_length = 3}), "found");
}

TEST(ListOps, Errors) {
  EXPECT_EQ(listops_error("( ( [MAX 2 ) 9 ) ]"), std::nullopt);
  EXPECT_EQ(listops_error("5"), std::nullopt);
  EXPECT_PRED2(contains, listops_error("[FIRST 1 2 ]").value_or(""), "\"[FIRST\"");
  EXPECT_PRED2(contains, listops_error("[MAX 12 3 ]").value_or(""), "\"12\"");
  EXPECT_PRED2(contains, listops_error("[MAX 1 2").value_or(""), "not closed");
  EXPECT_PRED2(contains, listops_error("1 ]").value_or(""), "closes nothing");
  EXPECT_PRED2(contains, listops_error("[MAX ]").value_or(""), "without arguments");
  EXPECT_PRED2(contains, listops_error("1 2").value_or(""), "more than one");
  EXPECT_PRED2(contains, listops_error("( )").value_or(""), "no expression");
}

TEST(ListOps, WritesTheFormatAndReadsIt) {
  ScratchFolder scratch;
  int64_t heard = 0;
  write_listops(scratch / "data", {}, 30, 5, 7, 11, [&](int64_t done) { EXPECT_EQ(done, ++heard); });
  EXPECT_EQ(heard, 42);
  const std::string text = read_file(scratch / "data/basic_val.tsv");
  EXPECT_EQ(text.substr(0, 15), "Source\tTarget\r\n");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 6);

  Problems problems(false);
  const testing::Records records = testing::collect(read_listops, scratch / "data", {}, problems);
  ASSERT_EQ(records.size(), 42U);
  std::map<Split, int> counts;
  std::set<std::string> sources;
  for (const Record& record : records) {
    ++counts[record.split];
    sources.insert(record.bytes);
    EXPECT_EQ(std::to_string(evaluate(record.bytes)), record.label);
    EXPECT_FALSE(contains(record.bytes, "("));
    EXPECT_FALSE(contains(record.bytes, "  "));
  }
  EXPECT_EQ(counts[Split::train], 30);
  EXPECT_EQ(counts[Split::valid], 5);
  EXPECT_EQ(counts[Split::test], 7);
  EXPECT_EQ(sources.size(), 42U);

  write_listops(scratch / "again", {}, 30, 5, 7, 11);
  EXPECT_EQ(read_file(scratch / "again/basic_val.tsv"), text);
}

TEST(ListOps, NeverWritesAnExpressionTwice) {
  ScratchFolder scratch;
  const ListOpsOptions digits{.depth = 1, .min_length = 0, .max_length = 2};
  write_listops(scratch / "ten", digits, 5, 3, 2, 1);
  Problems problems(false);
  std::set<std::string> sources;
  for (const Record& record : testing::collect(read_listops, scratch / "ten", {}, problems))
    sources.insert(record.bytes);
  EXPECT_EQ(sources.size(), 10U);

  EXPECT_PRED2(contains, error_of([&] { write_listops(scratch / "more", digits, 11, 0, 0, 1); }),
               "no more than 10 different");
  EXPECT_FALSE(std::filesystem::exists(scratch / "more/basic_train.tsv"));

  for (const int64_t count : {int64_t{-1}, int64_t{1'000'000'001}, std::numeric_limits<int64_t>::max()})
    EXPECT_PRED2(contains, error_of([&] { write_listops(scratch / "many", {}, 1, count, 1, 1); }),
                 std::to_string(count) + " expressions: expected 0 to 1000000000");

  write_file(scratch / "file", "");
  EXPECT_PRED2(contains, error_of([&] { write_listops(scratch / "file", digits, 1, 1, 1, 1); }),
               "cannot create this folder");
}

TEST(ReadListOps, AcceptsTheFirstReleaseAndSaysWhatIsWrong) {
  ScratchFolder scratch;
  write_file(scratch / "test_d20s.tsv",
             "9\t( ( ( [MAX 2 ) 9 ) ] )\n"
             "x\t[MAX 2 9 ]\n"
             "[MAX 2 9 ]\n"
             "\n"
             "[MAX 2 NINE ]\t9\n"
             "[MIN  2 3 ]\t2");
  Problems problems(true);
  const testing::Records records = testing::collect(read_listops, scratch / "test_d20s.tsv", {}, problems);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].bytes, "[MAX 2 9 ]");
  EXPECT_EQ(records[0].label, "9");
  EXPECT_EQ(records[0].split, Split::test);
  EXPECT_EQ(records[1].bytes, "[MIN 2 3 ]");
  EXPECT_EQ(records[1].where, "test_d20s.tsv:6");
  ASSERT_EQ(problems.count(), 3);
  EXPECT_EQ(problems.first()[0].where, "test_d20s.tsv:2");
  EXPECT_PRED2(contains, problems.first()[0].what, "expected a digit");
  EXPECT_PRED2(contains, problems.first()[1].what, "no tab");
  EXPECT_PRED2(contains, problems.first()[2].what, "\"NINE\"");

  Problems strict(false);
  EXPECT_PRED2(contains,
               error_of([&] { testing::collect(read_listops, scratch / "test_d20s.tsv", {}, strict); }),
               "test_d20s.tsv:2");
  EXPECT_PRED2(contains,
               error_of([&] { testing::collect(read_listops, scratch / "absent.tsv", {}, strict); }),
               "absent.tsv");
  std::filesystem::create_directory(scratch / "empty");
  EXPECT_PRED2(contains, error_of([&] { testing::collect(read_listops, scratch / "empty", {}, strict); }),
               "no .tsv file");
}

}  // namespace
}  // namespace mega::data
