#include "mega/base/files/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

// The bytes of a file with this header and `data_size` bytes of data.
std::string file_bytes(const std::string& header, size_t data_size) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + std::string(data_size, '\0');
}

Safetensors parse(const std::string& bytes) {
  return Safetensors::parse(std::as_bytes(std::span(bytes)), "x");
}

std::string header_error(const std::string& header, size_t data_size = 0) {
  const std::string bytes = file_bytes(header, data_size);
  return error_of([&] { parse(bytes); });
}

// A header with one tensor "a".
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, ReadsWhatItWrote) {
  const ScratchFolder folder;
  const std::vector<float> weights(32, 1.5f);
  const std::vector<float> bias = {1, 2, 3};
  const int64_t counter = 42;
  const std::vector<uint8_t> text = {'h', 'i', '!'};
  write_safetensors(folder / "file",
                    {{"text", DType::U8, {3}, std::as_bytes(std::span(text))},
                     {"bias", DType::F32, {3}, std::as_bytes(std::span(bias))},
                     {"counter", DType::I64, {}, std::as_bytes(std::span(&counter, 1))},
                     {"weights", DType::F32, {4, 8}, std::as_bytes(std::span(weights))},
                     {"nothing", DType::F16, {0, 5}, {}}},
                    {{"key", "a \"value\""}});

  const Safetensors file = Safetensors::open(folder / "file");
  EXPECT_EQ(file.metadata(), (Metadata{{"key", "a \"value\""}}));
  ASSERT_EQ(file.tensors().size(), 5u);
  EXPECT_EQ(file.at("weights").shape, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(file.at("weights").elements(), 32);
  EXPECT_EQ(std::memcmp(file.at("bias").data.data(), bias.data(), 12), 0);
  EXPECT_EQ(file.at("nothing").elements(), 0);
  EXPECT_TRUE(file.at("counter").shape.empty());
  EXPECT_EQ(file.find("none"), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.at("weights").data.data()) % 64, 0u);
  for (const TensorView& tensor : file.tensors()) EXPECT_TRUE(tensor.is_aligned()) << tensor.name;
}

TEST(Safetensors, StaysMappedWhileACopyExists) {
  const ScratchFolder folder;
  const std::vector<float> values = {7};
  write_safetensors(folder / "file", {{"a", DType::F32, {1}, std::as_bytes(std::span(values))}}, {});
  Safetensors copy;
  {
    const Safetensors file = Safetensors::open(folder / "file");
    copy = file;
  }
  EXPECT_EQ(std::memcmp(copy.at("a").data.data(), values.data(), 4), 0);
}

TEST(Safetensors, OnlySpacesMayFollowTheHeader) {
  EXPECT_NO_THROW(parse(file_bytes("{}   ", 0)));
  EXPECT_PRED2(contains, header_error("{} \n"), "followed only by spaces");
  EXPECT_PRED2(contains, header_error(" {}"), "expected an object");
}

TEST(Safetensors, FilesWithoutTensorsAreValid) {
  const ScratchFolder folder;
  write_safetensors(folder / "file", {}, {});
  EXPECT_TRUE(Safetensors::open(folder / "file").tensors().empty());
  EXPECT_TRUE(parse(file_bytes("{}", 0)).tensors().empty());
}

TEST(Safetensors, ReadsUnalignedData) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}} )";
  const std::string bytes = file_bytes(header, 5);
  const Safetensors file = parse(bytes);
  EXPECT_EQ(file.tensors()[1].name, "b");
  EXPECT_EQ(file.at("b").data.size(), 4u);
}

TEST(Safetensors, ErrorSuggestsTheNearestName) {
  const std::string bytes = file_bytes(one("\"F32\"", "[0]", "[0,0]"), 0);
  EXPECT_EQ(error_of([&] { parse(bytes).at("b"); }), "x: has no tensor \"b\" among its 1");
  const std::string longer =
      file_bytes(R"({"layer.weight":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 0);
  EXPECT_EQ(error_of([&] { parse(longer).at("layer.wieght"); }),
            "x: has no tensor \"layer.wieght\"; the nearest is \"layer.weight\"");
}

TEST(Safetensors, RejectsInvalidFiles) {
  EXPECT_PRED2(contains, error_of([] { parse(""); }), "too short");
  EXPECT_PRED2(contains, error_of([] { parse("1234567"); }), "too short");
  EXPECT_PRED2(contains, error_of([] { parse(std::string(8, '\xff')); }),
               "give a header size of 18446744073709551615");
  EXPECT_PRED2(contains, error_of([] { parse(std::string("\x03\0\0\0\0\0\0\0{}", 10)); }),
               "not a safetensors file");
  EXPECT_PRED2(contains, header_error(""), "not valid JSON");
  EXPECT_PRED2(contains, header_error("[]"), "expected an object");
  EXPECT_PRED2(contains, header_error(std::string(100'000, '[')), "nested deeper");
  EXPECT_PRED2(contains, header_error(R"({"a":1})"), "tensor \"a\": expected {dtype, shape, data_offsets}");
  EXPECT_PRED2(contains, header_error(R"({"a":{}})"), "expected only dtype, shape and data_offsets");
  EXPECT_PRED2(contains, header_error(R"({"__metadata__":{"a":1}})"), "the value of \"a\" is not a string");
  EXPECT_PRED2(contains, header_error(R"({"__metadata__":[]})"), "not an object");
  const std::string twice = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_PRED2(contains, header_error("{" + twice + "," + twice + "}"), "appears twice");
}

TEST(Safetensors, RejectsInvalidTensors) {
  EXPECT_PRED2(contains, header_error(one("\"F31\"", "[0]", "[0,0]")), "dtype: expected one of F64, F32");
  EXPECT_PRED2(contains, header_error(one("7", "[0]", "[0,0]")), "dtype is not a string");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[-1]", "[0,0]")),
               "shape: expected a whole number from 0, got \"-1\"");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[1.5]", "[0,0]")), "whole number");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[9223372036854775808]", "[0,0]")), "whole number");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "{}", "[0,0]")), "shape is not a list");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), 4),
               "at most 16");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[4294967296,4294967296]", "[0,0]")),
               "does not match the 0 bytes");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[2]", "[0,4]"), 4),
               "shape [2] of F32 does not match the 4 bytes");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[1]", "[4,0]"), 4), "end is before begin");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[1]", "[0]"), 4), "not [begin, end]");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[1]", "[0,4]"), 3), "past the end of the file");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[1]", "[4,8]"), 8), "begins at 4, expected 0");
  EXPECT_PRED2(contains, header_error(one("\"F32\"", "[1]", "[0,4]"), 9),
               "5 bytes at the end belong to no tensor");
  const std::string overlap = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                              R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})";
  EXPECT_PRED2(contains, header_error(overlap, 6), "holes and overlaps");
  std::string boolean = file_bytes(one("\"BOOL\"", "[2]", "[0,2]"), 2);
  EXPECT_NO_THROW(parse(boolean));
  boolean.back() = 2;
  EXPECT_PRED2(contains, error_of([&] { parse(boolean); }), "other than 0 and 1");
}

TEST(Safetensors, EveryTruncatedFileIsAnError) {
  const std::string bytes = file_bytes(one("\"F32\"", "[4]", "[0,16]"), 16);
  EXPECT_NO_THROW(parse(bytes));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(parse(bytes.substr(0, size)), Error) << size;
}

TEST(WriteSafetensors, RejectsWhatItCouldNotRead) {
  const ScratchFolder folder;
  const std::vector<float> values = {1, 2};
  const auto data = std::as_bytes(std::span(values));
  const auto error = [&](std::vector<TensorView> tensors, const Metadata& metadata = {}) {
    return error_of([&] { write_safetensors(folder / "file", std::move(tensors), metadata); });
  };
  EXPECT_PRED2(contains, error({{"a", DType::F32, {3}, data}}), "shape [3] of F32 does not match 8 bytes");
  EXPECT_PRED2(contains, error({{"a", DType::F32, {-2}, data}}), "does not match");
  EXPECT_PRED2(contains, error({{"a", DType::F32, {2}, data}, {"a", DType::F32, {2}, data}}),
               "duplicate name");
  EXPECT_PRED2(contains, error({{"__metadata__", DType::F32, {2}, data}}), "reserved");
  EXPECT_PRED2(contains, error({{"\xff", DType::F32, {2}, data}}), "UTF-8");
  EXPECT_PRED2(contains, error({}, {{"key", "\xff"}}), "UTF-8");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left behind";
}

}  // namespace
}  // namespace mega
