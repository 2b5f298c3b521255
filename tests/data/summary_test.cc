#include "mega/data/summary.h"

#include <gtest/gtest.h>

#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

Record text(const std::string& first, const std::string& second = "") {
  Record record;
  record.bytes = first;
  record.second = second;
  return record;
}

Part texts_of_length(const std::vector<int>& lengths) {
  std::vector<Record> records;
  for (const int length : lengths) records.push_back(text(std::string(static_cast<size_t>(length), 'x')));
  Part part(std::move(records));
  for (const int length : lengths) part.labels.push_back(length % 2);
  return part;
}

Encoder text_encoder(int64_t max_length, int32_t cls = -1) {
  Signature signature;
  signature.input.input = TextInput{TextUnits::bytes, max_length};
  return Encoder(signature, cls);
}

TEST(Summary, CountsClassesAndLengths) {
  std::vector<int> lengths;
  for (int i = 100; i > 0; --i) lengths.push_back(i);
  const PartSummary summary = summarize(texts_of_length(lengths), text_encoder(0), 1, 3);
  EXPECT_EQ(summary.examples, 100);
  EXPECT_EQ(summary.per_class, (std::vector<int64_t>{50, 50, 0}));
  EXPECT_EQ(summary.shortest, 2);  // with </s>
  EXPECT_EQ(summary.median, 51);
  EXPECT_EQ(summary.p95, 96);
  EXPECT_EQ(summary.longest, 101);
  EXPECT_EQ(summary.cut, 0);
}

TEST(Summary, OfNothing) {
  const PartSummary summary = summarize({}, text_encoder(0), 1, 2);
  EXPECT_EQ(summary.examples, 0);
  EXPECT_EQ(summary.per_class, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(summary.longest, 0);
}

TEST(Summary, CountsWhatIsCut) {
  for (const int32_t cls : {-1, 300}) {
    const PartSummary summary = summarize(texts_of_length({8, 9, 10, 11, 50}), text_encoder(10, cls), 1, 2);
    EXPECT_EQ(summary.longest, cls < 0 ? 10 : 11);
    EXPECT_EQ(summary.cut, 3);  // 9 bytes and </s> still fit
  }
}

TEST(Summary, CountsEitherDocumentOfAPair) {
  const Part part({text("a", std::string(50, 'b')), text(std::string(50, 'b'), "a"), text("a", "b")});
  const PartSummary summary = summarize(part, text_encoder(10), 2, 0);
  EXPECT_EQ(summary.cut, 2);
  EXPECT_EQ(summary.shortest, 2);
  EXPECT_EQ(summarize(part, text_encoder(10), 1, 0).cut, 1);
}

TEST(Summary, CutsSeriesToo) {
  Signature signature;
  signature.input.input = SeriesInput{2, 3, Standardize::none};
  std::vector<Record> records(2);
  records[0].values.resize(6);
  records[1].values.resize(8);
  const PartSummary summary = summarize(Part(records), Encoder(signature), 1, 0);
  EXPECT_EQ(summary.longest, 3);
  EXPECT_EQ(summary.cut, 1);
}

TEST(CountShared, ComparesContentNotLabels) {
  std::vector<Record> first = {text("a"), text("b", "c"), text("d")};
  first[0].label = "x";
  std::vector<Record> second = {text("a"), text("a"), text("bc"), text("b", "c"), text("c", "b"), text("e")};
  second[0].label = "y";
  second[0].where = "elsewhere";
  const Part one(first), other(second);
  EXPECT_EQ(count_shared(one, other), 3);  // a twice, and the pair
  EXPECT_EQ(count_shared(other, one), 2);
  EXPECT_EQ(count_shared(one, {}), 0);
}

TEST(CountShared, ComparesNumbers) {
  std::vector<Record> one(1), other(3);
  one[0].values = {1, 2};
  other[0].values = {1, 2};
  other[1].values = {2, 1};
  other[2].values = {1, 2, 0};
  EXPECT_EQ(count_shared(Part(one), Part(other)), 1);
}

TEST(LongestLine, CountsItsEnd) {
  const testing::ScratchFolder folder;
  const auto longest = [&](const std::vector<int32_t>& tokens) {
    TokenWriter writer(folder / "a.tokens", 10, 0);
    writer.append(tokens);
    writer.finish();
    TokenView view;
    view.file = std::make_shared<const TokenFile>(TokenFile::open(folder / "a.tokens"));
    view.end = view.file->size();
    return longest_line(view);
  };
  EXPECT_EQ(longest({5, kEnd, 5, 6, kEnd, kEnd}), 3);
  EXPECT_EQ(longest({kEnd, kEnd}), 1);
  EXPECT_EQ(longest({5, kEnd, 5, 6, 7}), 3) << "without an end";
  EXPECT_EQ(longest_line({}), 0);
}

}  // namespace
}  // namespace mega::data
