#include "mega/base/pytorch/pickle.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"
#include "tests/base/pytorch/pickle_bytes.h"

namespace mega::testing {
namespace {

using namespace std::string_literals;

std::string error_of_pickle(const std::string& operations) {
  return error_of([&] { Pickle(bytes_of(operations), "file"); });
}

TEST(Pickle, ReadsPlainValues) {
  const std::string operations = kProto + "(" + text_op("a\xC3\xA4") + "K\x07M\x01\x02J\xFE\xFF\xFF\xFF" +
                                 "\x8A\x01\x80" + "G\xBF\xF8\0\0\0\0\0\0"s + "N\x88\x89l";
  // 'l' (LIST) is no operation of saved models; the same values as a tuple are.
  EXPECT_PRED2(contains, error_of_pickle(operations + "."), "operation 108 (l)");
  const std::string good = operations.substr(0, operations.size() - 1) + "t.";
  const Pickle pickle(bytes_of(good), "file");
  const auto items = pickle.root().items("root");
  ASSERT_EQ(items.size(), 9U);
  EXPECT_EQ(items[0].text("text"), "a\xC3\xA4");
  EXPECT_EQ(items[1].integer("BININT1"), 7);
  EXPECT_EQ(items[2].integer("BININT2"), 0x201);
  EXPECT_EQ(items[3].integer("BININT"), -2);
  EXPECT_EQ(items[4].integer("LONG1"), -128);
  EXPECT_EQ(items[5].number("BINFLOAT"), -1.5);
  EXPECT_TRUE(items[6].is_none());
  EXPECT_TRUE(items[7].boolean("NEWTRUE"));
  EXPECT_FALSE(items[8].boolean("NEWFALSE"));
  EXPECT_EQ(pickle.size(), good.size());
}

TEST(Pickle, ReadsDictsInOrderAndByKey) {
  const std::string operations =
      kProto + "}(" + text_op("z") + "K\x01" + text_op("a") + "K\x02u" + text_op("m") + "]q\x05K\x03" + "as.";
  const Pickle pickle(bytes_of(operations), "file");
  const PickleValue& root = pickle.root();
  ASSERT_EQ(root.entries("root").size(), 3U);
  EXPECT_EQ(root.entries("root")[0].key.text("key"), "z");
  EXPECT_EQ(root.at("a", "root").integer("a"), 2);
  EXPECT_EQ(root.at("m", "root").items("m")[0].integer("item"), 3);
  EXPECT_EQ(root.find("b"), nullptr);
  EXPECT_PRED2(contains, error_of([&] { root.at("b", "file: model"); }), "file: model: has no \"b\"");
  EXPECT_PRED2(contains, error_of([&] { root.at("a", "").text("args.arch"); }),
               "args.arch: expected text, got an integer");
}

TEST(Pickle, ReadsObjectsAndNumbersOfNumpy) {
  const std::string type = global_op("numpy", "dtype") + text_op("i8") + "\x89\x88\x87R(K\x03" +
                           text_op("<") + "NNNJ\xFF\xFF\xFF\xFFJ\xFF\xFF\xFF\xFFK\0tb"s;
  const std::string bytes =
      global_op("_codecs", "encode") + text_op("\xC3\xBE\x01\0\0\0\0\0\0"s) + text_op("latin1") + "\x86R";
  const std::string number = global_op("numpy.core.multiarray", "scalar") + type + bytes + "\x86R";
  const std::string operations =
      kProto + global_op("argparse", "Namespace") + ")\x81}" + text_op("max_tokens_valid") + number + "sb.";
  const Pickle pickle(bytes_of(operations), "file");
  EXPECT_EQ(pickle.root().kind(), PickleValue::Kind::fields);
  EXPECT_EQ(pickle.root().at("max_tokens_valid", "args").integer("number"), 0x1FE);
}

TEST(Pickle, ReadsTensorsAndTheirStorages) {
  const std::string storage = storage_op("HalfStorage", "7", 10);
  const std::string operations = kProto + tensor_op(storage, 1, 3, 4) + ".";
  Pickle pickle(bytes_of(operations), "file");
  ASSERT_EQ(pickle.storages().size(), 1U);
  EXPECT_EQ(pickle.storages()[0].key, "7");
  EXPECT_EQ(pickle.storages()[0].dtype, DType::F16);
  EXPECT_EQ(pickle.root().tensor("tensor").shape(), std::vector<int64_t>{3});
  EXPECT_PRED2(contains, error_of_pickle(kProto + tensor_op(storage, 2, 3, 4) + "."),
               "at offset 2 is not inside its storage of 10 elements");
  EXPECT_PRED2(contains,
               error_of_pickle(kProto + tensor_op(storage_op("FloatTensor", "0", 4), 0, 1, 1) + "."),
               "\"torch.FloatTensor\"");
}

TEST(Pickle, NamesWhatItRefuses) {
  EXPECT_PRED2(contains, error_of_pickle(kProto + global_op("os", "system") + text_op("ls") + "\x85R."),
               "file: at byte 2: names \"os.system\"");
  EXPECT_PRED2(contains, error_of_pickle(kProto + global_op("collections", "OrderedDict") + ")\x81."),
               "makes an object of OrderedDict");
  EXPECT_PRED2(contains, error_of_pickle(kProto + global_op("argparse", "Namespace") + ")R."),
               "calls Namespace, which is no function");
  EXPECT_PRED2(contains, error_of_pickle(kProto + text_op("f") + ")R."), "calls text");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "]}b."), "sets attributes of a list");
  EXPECT_PRED2(contains, error_of_pickle("\x80\x09."), "pickle protocol 9");
}

TEST(Pickle, RefusesWhatIsDamaged) {
  EXPECT_PRED2(contains, error_of_pickle(""), "ends too early");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "NN."), "values left on the stack");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "(."), "empty stack");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "N(a."), "takes 1 values from a stack of 0");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "Nt."), "there is none");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "}K\x01" + "a."), "appends to a dict");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "}" + text_op("a") + "Ns" + text_op("a") + "Ns."),
               "the key \"a\" twice");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "}]Ns."), "a list as a key");
}

// Lists that hold the one before ten times are walked once each; a cycle and a deep tree are refused.
TEST(Pickle, LimitsDepthWithoutRecursion) {
  std::string deep = kProto + "N";
  for (int i = 0; i < PickleLimits::kDepth; ++i) deep += '\x85';
  EXPECT_NO_THROW(Pickle(bytes_of(deep + "."), "file"));
  EXPECT_PRED2(contains, error_of_pickle(deep + "\x85."), "deeper than 64");
  // A list that was looked at near the root is as deep as before further down.
  const std::string again = kProto + "(" + deep.substr(kProto.size()) + "q\x01h\x01\x85t.";
  EXPECT_PRED2(contains, error_of_pickle(again), "deeper than 64");
  std::string laughs = kProto + "N";
  for (int i = 0; i < 60; ++i) laughs += "q\x01" + std::string("h\x01h\x01\x87");
  EXPECT_NO_THROW(Pickle(bytes_of(laughs + "."), "file"));
  EXPECT_PRED2(contains, error_of_pickle(kProto + "]q\x01h\x01" + "a."), "a list contains itself");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "}q\x01K\x01h\x01s."), "a dict contains itself");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "N" + std::string(PickleLimits::kStack - 1, '\x85') + "."),
               "more than");
}

TEST(Pickle, LimitsMemory) {
  EXPECT_PRED2(contains, error_of_pickle(kProto + std::string(PickleLimits::kStack + 1, 'N')),
               "a stack of more than");
  EXPECT_PRED2(contains, error_of_pickle(kProto + std::string(PickleLimits::kStack + 1, '(')), "marks");
  EXPECT_PRED2(contains, error_of_pickle(kProto + "Nr" + little(PickleLimits::kMemo, 4) + "."),
               "memo entry 1048576");
  std::string lists = kProto + "(";
  for (size_t i = 0; i < PickleLimits::kItems / 1000 + 1; ++i) lists += "(" + std::string(1000, 'N') + "t";
  EXPECT_PRED2(contains, error_of_pickle(lists), "items of lists and dicts");
}

}  // namespace
}  // namespace mega::testing
