#include "mega/data/readers/read_inputs.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/data/dataset.h"
#include "tests/base/helpers.h"
#include "tests/data/npy_bytes.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::npy_bytes;
using testing::npy_file;
using testing::ScratchFolder;

void put(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  write_file(path, text);
}

Signature signature_for(InputOptions input, std::vector<std::string> classes = {"0", "1"}) {
  Signature signature;
  signature.input = std::move(input);
  signature.classes = std::move(classes);
  return signature;
}

const InputOptions kText = {TextInput(TextUnits::bytes, 0)};

InputOptions series(int64_t channels) { return {SeriesInput{.channels = channels}}; }

testing::Records inputs(const std::string& path, const InputRequest& request) {
  testing::Records records;
  Problems problems(false);
  read_inputs(
      path, request, [&](Record&& record) { records.push_back(std::move(record)); }, problems);
  EXPECT_EQ(count_inputs(path, request), std::ssize(records));
  return records;
}

testing::Records inputs(const fs::path& path, const InputOptions& input, int documents = 1) {
  return inputs(path.string(), input_request(signature_for(input), documents));
}

std::string shown(const Record& record) {
  std::string text = record.bytes + (record.second.empty() ? "" : "+" + record.second);
  for (const float value : record.values) text += std::to_string(value).substr(0, 4) + ",";
  return text + (record.id.empty() ? "" : " #" + record.id) +
         (record.label.empty() ? "" : "=" + record.label) + "; ";
}

std::string all(const testing::Records& records) {
  std::string text;
  for (const Record& record : records) text += shown(record);
  return text;
}

// That training reads these examples, in this order, with these labels, and that predictions do too.
void expect_same(const fs::path& path, const InputOptions& input, size_t count, bool pairs = false) {
  DatasetRequest request;
  request.data.path = path;
  request.input = input;
  request.pairs = pairs;
  testing::RecordList trained;
  Problems problems(false);
  read_examples(request, trained, problems);
  const testing::Records read = inputs(path, input, pairs ? 2 : 1);
  ASSERT_EQ(trained.records.size(), count);
  ASSERT_EQ(read.size(), count);
  const fs::path base = fs::is_directory(path) ? path : path.parent_path();
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(content_hash(read[i]), content_hash(trained.records[i]));
    EXPECT_EQ(read[i].label, trained.records[i].label);
    EXPECT_EQ(read[i].where, (base / trained.records[i].where).string());
  }
}

TEST(Inputs, AreTheExamplesOfTraining) {
  const ScratchFolder folder;
  put(folder / "a.csv", "id,label,text\n7,1,\"two\nlines, \"\"quoted\"\"\"\n8,0,plain\n\n9,1,'single'\n");
  expect_same(folder / "a.csv", kText, 3);
  put(folder / "b.csv", "label;text\r\n1;a, b\r\n0;\"c; d\"\r\n");
  expect_same(folder / "b.csv", kText, 2);
  put(folder / "c.tsv", "1\tgood one\n0\tbad\n1\tfine\n");
  expect_same(folder / "c.tsv", kText, 3);
  put(folder / "d.jsonl", "{\"id\": 3, \"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 0}\n");
  expect_same(folder / "d.jsonl", kText, 2);
  OutputStream packed(folder / "e.csv.gz");
  packed.write("label,text\n1,a\n0,b\n");
  packed.commit();
  expect_same(folder / "e.csv.gz", kText, 2);
  put(folder / "texts/pos/1.txt", "fine");
  put(folder / "texts/neg/1.txt", "dull");
  put(folder / "texts/README", "about");
  expect_same(folder / "texts", kText, 2);
  put(folder / "p.tsv", "1\ta\tb\n0\tc\td\n");
  expect_same(folder / "p.tsv", kText, 2, true);
}

TEST(Inputs, AreTheSeriesOfTraining) {
  const ScratchFolder folder;
  put(folder / "ucr.tsv", "1\t0.5\t0.25\n0\t3\t4\n1\t5\t6\n");
  expect_same(folder / "ucr.tsv", series(1), 3);
  put(folder / "german.csv", "1;0,5;0,25\n0;3;4\n");
  expect_same(folder / "german.csv", series(1), 2);
  put(folder / "two.csv", "walk,1,10,2,20\nrun,3,30\n");
  expect_same(folder / "two.csv", series(2), 2);
  put(folder / "a.jsonl", "{\"values\": [1, 2], \"label\": 1}\n{\"values\": [3], \"label\": 0}\n");
  expect_same(folder / "a.jsonl", series(1), 2);
  put(folder / "arrays/X.npy", npy_file("<f4", "(2, 3)", npy_bytes<float>({1, 2, 3, 4, 5, 6})));
  put(folder / "arrays/y.npy", npy_file("<i8", "(2,)", npy_bytes<int64_t>({1, 0})));
  expect_same(folder / "arrays", series(1), 2);
  expect_same(folder / "arrays/X.npy", series(1), 2);
  put(folder / "files/walk/1.csv", "x,y\n1,10\n2,20\n");
  put(folder / "files/run/1.npy", npy_file("<f4", "(2, 2)", npy_bytes<float>({6, 60, 7, 70})));
  expect_same(folder / "files", series(2), 2);
}

TEST(Inputs, NeedNoLabels) {
  const ScratchFolder folder;
  put(folder / "a.csv", "text\na\n\"b, c\"\n");
  EXPECT_EQ(all(inputs(folder / "a.csv", kText)), "a; b, c; ");
  put(folder / "b.csv", "id,text\n7,a\n8,\n");
  EXPECT_EQ(all(inputs(folder / "b.csv", kText)), "a #7;  #8; ") << "an empty text is one, too";
  put(folder / "c.csv", "a\nb\n");
  EXPECT_EQ(all(inputs(folder / "c.csv", kText)), "a; b; ");
  put(folder / "d.jsonl",
      "{\"id\": \"x\", \"text\": \"a\"}\n{\"text\": null}\n{\"text\": \"b\", \"label\": null}\n");
  EXPECT_EQ(all(inputs(folder / "d.jsonl", kText)), "a #x; ; b; ");
  put(folder / "e.tsv", "a\tb\nc\td\n");
  EXPECT_EQ(all(inputs(folder / "e.tsv", kText, 2)), "a+b; c+d; ");
  put(folder / "f.csv", "label,text\n");
  EXPECT_EQ(all(inputs(folder / "f.csv", kText)), "");
  put(folder / "texts/1.txt", "fine");
  put(folder / "texts/pos/2.txt", "");
  EXPECT_EQ(all(inputs(folder / "texts", kText)), "fine; =pos; ");
  put(folder / "g.jsonl", "{\"values\": [1, 2], \"id\": 5}\n");
  EXPECT_EQ(all(inputs(folder / "g.jsonl", series(1))), "1.00,2.00, #5; ");
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "d.jsonl", kText, 2); }),
               "d.jsonl:1: which is the second text?");
}

TEST(Inputs, ColumnsAreThoseOfTheModel) {
  const ScratchFolder folder;
  Signature signature = signature_for(kText);
  signature.data.text_column = "body";
  signature.data.label_column = "stars";
  signature.data.id_column = "key";
  signature.data.classes = {"1"};  // a choice of training examples, not of inputs
  put(folder / "a.csv", "stars,text,body,key\n1,no,a,k1\n2,no,b,k2\n");
  EXPECT_EQ(all(inputs(folder / "a.csv", input_request(signature, 1))), "a #k1=1; b #k2=2; ");
  put(folder / "b.csv", "text,body\nno,a\n");
  EXPECT_EQ(all(inputs(folder / "b.csv", input_request(signature, 1))), "a; ")
      << "label and id are not there";
  put(folder / "c.csv", "text,label\nno,1\n");
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "c.csv", input_request(signature, 1)); }),
               "no column \"body\"");
  signature.data.delimiter = "|";
  put(folder / "d.csv", "body|stars\na,b;c|1\n");
  EXPECT_EQ(all(inputs(folder / "d.csv", input_request(signature, 1))), "a,b;c=1; ");
}

TEST(Inputs, OtherTextFilesAreOneInputOrLines) {
  const ScratchFolder folder;
  put(folder / "a.txt", "one\n\ntwo,2\n");
  EXPECT_EQ(all(inputs(folder / "a.txt", kText)), "one\n\ntwo,2\n; ");
  InputRequest request = input_request(signature_for(kText), 1);
  request.lines = true;
  const testing::Records lines = inputs((folder / "a.txt").string(), request);
  EXPECT_EQ(all(lines), "one; ; two,2; ") << "an empty line is an input";
  EXPECT_EQ(lines[2].where, (folder / "a.txt").string() + ":3");
  put(folder / "b.csv", "label,text\n1,a\n");
  EXPECT_EQ(all(inputs((folder / "b.csv").string(), request)), "label,text; 1,a; ");
  request.lines = false;
  request.table = true;
  put(folder / "c.txt", "label,text\n1,a\n");
  EXPECT_EQ(all(inputs((folder / "c.txt").string(), request)), "a=1; ");
  put(folder / "pairs.txt", "a\tb\nc\n");
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "pairs.txt", kText, 2); }),
               "pairs.txt:2: expected two texts separated by a tab");
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "none.txt", kText); }), "no such file or folder");
}

TEST(Inputs, ListOpsWithAndWithoutValue) {
  const ScratchFolder folder;
  put(folder / "a.tsv", "Source\tTarget\n( [MAX 2 ) 9 ]\t9\n[MIN 1 2 ]\n");
  EXPECT_EQ(all(inputs(folder / "a.tsv", {TextInput(TextUnits::listops, 0)})), "[MAX 2 9 ]=9; [MIN 1 2 ]; ");
}

TEST(Inputs, TheNumberOfColumnsTellsSeriesApart) {
  const ScratchFolder folder;
  put(folder / "one.csv", "x,y\n1,10\n2,20\n");
  EXPECT_EQ(all(inputs(folder / "one.csv", series(2))), "1.00,10.0,2.00,20.0,; ") << "a position a line";
  put(folder / "column.csv", "1\n2\n3\n");
  EXPECT_EQ(all(inputs(folder / "column.csv", series(1))), "1.00,2.00,3.00,; ");
  put(folder / "values.csv", "0.5,1,10,2\n1,10,2,20\n");
  EXPECT_EQ(all(inputs(folder / "values.csv", series(2))), "0.50,1.00,10.0,2.00,; 1.00,10.0,2.00,20.0,; ");
  EXPECT_EQ(all(inputs(folder / "values.csv", series(1))), "0.50,1.00,10.0,2.00,; 1.00,10.0,2.00,20.0,; ")
      << "0.5 is no class";
  put(folder / "classes.csv", "1,0.5\n0,0.25\n");
  EXPECT_EQ(all(inputs(folder / "classes.csv", series(1))), "0.50,=1; 0.25,=0; ");
  InputRequest request = input_request(signature_for(series(1)), 1);
  request.labels = false;
  EXPECT_EQ(all(inputs((folder / "classes.csv").string(), request)), "1.00,0.50,; 0.00,0.25,; ");

  put(folder / "time/a.csv", "time,x\n2020-01-01,1\n2020-01-02,2\n");
  Signature signature = signature_for(series(1));
  EXPECT_PRED2(contains,
               error_of([&] { inputs((folder / "time/a.csv").string(), input_request(signature, 1)); }),
               "set data.time_column=time");
  signature.data.time_column = "time";
  EXPECT_EQ(all(inputs((folder / "time").string(), input_request(signature, 1))), "1.00,2.00,; ");
}

TEST(Inputs, ArraysOfOneOrManySeries) {
  const ScratchFolder folder;
  put(folder / "signal.npy", npy_file("<f4", "(2, 2)", npy_bytes<float>({1, 10, 2, 20})));
  EXPECT_EQ(all(inputs(folder / "signal.npy", series(2))), "1.00,10.0,2.00,20.0,; ");
  EXPECT_EQ(all(inputs(folder / "signal.npy", series(1))), "1.00,10.0,; 2.00,20.0,; ");
  put(folder / "X.npy", npy_file("<f4", "(2, 1)", npy_bytes<float>({1, 2})));
  EXPECT_EQ(all(inputs(folder / "X.npy", series(1))), "1.00,; 2.00,; ") << "its name says series, a row each";
  put(folder / "cube.npy", npy_file("<f4", "(1, 2, 2)", npy_bytes<float>({1, 10, 2, 20})));
  EXPECT_EQ(all(inputs(folder / "cube.npy", series(2))), "1.00,10.0,2.00,20.0,; ");
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "cube.npy", series(1)); }),
               "2 channels where input.channels is 1");
}

TEST(Inputs, ProblemsAreToldInTheirPlace) {
  const ScratchFolder folder;
  put(folder / "a.csv", "text,label\na,1\nb\nc,0\n");
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "a.csv", kText); }),
               (folder / "a.csv").string() + ":3: 1 column where 2 are expected");
  std::string order;
  Problems problems([&](const Problem& problem) { order += "!" + problem.what.substr(0, 8) + "; "; });
  read_inputs((folder / "a.csv").string(), input_request(signature_for(kText), 1),
              [&](Record&& record) { order += shown(record); }, problems);
  EXPECT_EQ(order, "a=1; !1 column; c=0; ");
  read_inputs((folder / "a.csv").string(), input_request(signature_for({ImageInput{}}), 1),
              [&](Record&&) { FAIL(); }, problems);
  EXPECT_EQ(problems.count(), 2);
}

// Decoded ahead by several threads, and yet in order.
TEST(Inputs, PicturesOfSeveralPaths) {
  const ScratchFolder folder;
  std::vector<std::string> paths;
  std::string expected;
  const auto add = [&](const std::string& name, const std::string& outcome) {
    paths.push_back((folder / name.c_str()).string());
    expected += paths.back() + " " + outcome + "; ";
  };
  for (int i = 1; i <= 40; ++i) {
    const std::string name = std::to_string(i) + ".pgm";
    put(folder / name.c_str(),
        "P5 " + std::to_string(i) + " 1 255\n" + std::string(static_cast<size_t>(i), 'x'));
    add(name, std::to_string(i));
    if (i % 10 == 0) add("missing" + name, "cannot be read");
  }
  put(folder / "more/a.pgm", "P5 7 1 255\nxxxxxxx");
  paths.push_back((folder / "more").string());
  expected += paths.back() + "/a.pgm 7; ";
  put(folder / "empty.jpg", "");
  add("empty.jpg", "the file is empty");

  std::string actual;
  Problems problems([&](const Problem& problem) {
    EXPECT_FALSE(problem.what.starts_with(problem.where)) << problem.what;
    const bool missing = contains(problem.where, "missing");
    actual += problem.where + " " + (missing ? "cannot be read" : problem.what) + "; ";
  });
  const InputRequest request = input_request(signature_for({ImageInput{}}), 1);
  const auto use = [&](Record&& record) {
    actual += record.where + " " + std::to_string(record.picture.width) + "; ";
  };
  read_inputs(paths, request, use, problems);
  EXPECT_EQ(actual, expected);
}

TEST(Inputs, HostileTables) {
  const ScratchFolder folder;
  put(folder / "wide.csv", "text,label\n" + std::string(20'000'000, ',') + "\n");
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "wide.csv", kText); }), "more than 10000 columns");
  put(folder / "open.csv", "text,label\n\"never closed,1\n" + std::string(1'000'000, 'x'));
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "open.csv", kText); }),
               "a quote is opened in this row");
  const std::string zeros(1000, '\0');
  put(folder / "zeros.csv", "text,label\n" + zeros + ",1\n");
  const testing::Records records = inputs(folder / "zeros.csv", kText);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].bytes, zeros);
  put(folder / "zeros.tsv", zeros);
  EXPECT_NO_THROW(inputs(folder / "zeros.tsv", kText));
  EXPECT_PRED2(contains, error_of([&] { inputs(folder / "zeros.tsv", series(1)); }), "no values");
}

TEST(CutInputs, AreThoseLongerThanTheModelReads) {
  const auto is_cut = [](const InputOptions& input, const Record& record) {
    return CutInputs(signature_for(input)).is_cut(record);
  };
  Record text;
  text.bytes = "abcd";  // and </s>
  EXPECT_FALSE(is_cut(kText, text));
  EXPECT_FALSE(is_cut({TextInput(TextUnits::bytes, 5)}, text));
  EXPECT_TRUE(is_cut({TextInput(TextUnits::bytes, 4)}, text));
  Record second;
  second.second = "abcd";
  EXPECT_TRUE(is_cut({TextInput(TextUnits::bytes, 4)}, second));
  Record numbers;
  numbers.values = {1, 2, 3, 4};
  EXPECT_FALSE(is_cut({SeriesInput{.channels = 2, .max_length = 2}}, numbers));
  EXPECT_TRUE(is_cut({SeriesInput{.channels = 2, .max_length = 1}}, numbers));
  Record sound;
  sound.cut = true;
  EXPECT_TRUE(is_cut({AudioInput{}}, sound));
}

}  // namespace
}  // namespace mega::data
