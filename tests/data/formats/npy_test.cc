#include "mega/data/formats/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"
#include "tests/data/npy_bytes.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using testing::npy_bytes;
using testing::npy_file;
using testing::ScratchFolder;

static_assert(std::endian::native == std::endian::little,
              "the files below are written in this machine's order");

struct Array {
  std::vector<int64_t> shape;
  int64_t size = 0;
  std::vector<double> values;
};

// Read in two parts.
Array array_of(std::string_view content) {
  const ScratchFolder folder;
  write_file(folder / "a.npy", content);
  NpyFile file(folder / "a.npy");
  Array array{file.shape(), file.size(), {}};
  file.read(file.size() / 2, array.values);
  file.read(file.size() - file.size() / 2, array.values);
  return array;
}

std::string error_in(std::string_view content) {
  return error_of([&] { array_of(content); });
}

std::vector<double> values_of(const Array& array) { return array.values; }

template <class T>
void expect_type(const char* type, const std::vector<T>& values) {
  const std::vector<double> expected(values.begin(), values.end());
  std::string bytes = npy_bytes(values);
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  EXPECT_EQ(values_of(array_of(npy_file("<" + std::string(type), shape, bytes))), expected) << type;
  for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    std::reverse(bytes.begin() + static_cast<long>(i), bytes.begin() + static_cast<long>(i + sizeof(T)));
  }
  EXPECT_EQ(values_of(array_of(npy_file(">" + std::string(type), shape, bytes))), expected) << type;
}

TEST(Npy, TypesInBothByteOrders) {
  expect_type<float>("f4", {0.5f, -1e30f});
  expect_type<double>("f8", {0.1, 1e300});
  expect_type<int8_t>("i1", {-128, 127});
  expect_type<int16_t>("i2", {-32768, 258});
  expect_type<int32_t>("i4", {-2'000'000'000, 66051});
  expect_type<int64_t>("i8", {-(int64_t{1} << 52), 3});
  expect_type<uint8_t>("u1", {255, 1});
  expect_type<uint16_t>("u2", {65535, 1});
  expect_type<uint32_t>("u4", {4'000'000'000u, 1});
  expect_type<uint64_t>("u8", {uint64_t{1} << 52, 1});
  expect_type<uint8_t>("b1", {0, 1});
}

TEST(Npy, ShapesInCAndFortranOrder) {
  const std::string bytes = npy_bytes<uint8_t>({0, 1, 2, 3, 4, 5});
  const Array c = array_of(npy_file("|u1", "(2, 3)", bytes));
  EXPECT_EQ(c.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values_of(c), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  const Array fortran = array_of(npy_file("|u1", "(2, 3)", bytes, true));
  EXPECT_EQ(values_of(fortran), (std::vector<double>{0, 2, 4, 1, 3, 5}));
  const Array three = array_of(npy_file("|u1", "(1L, 2L, 3L)", bytes, true));
  EXPECT_EQ(values_of(three), (std::vector<double>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(values_of(array_of(npy_file("|u1", "()", "\x07"))), std::vector<double>{7});
  EXPECT_EQ(array_of(npy_file("<f8", "(0, 9223372036854775807)", "")).size, 0);
}

TEST(Npy, HeadersOfAllVersions) {
  for (const int version : {1, 2, 3}) {
    EXPECT_EQ(values_of(array_of(npy_file("|u1", "(1,)", "\x07", false, version))), std::vector<double>{7});
  }
  EXPECT_PRED2(contains, error_in(npy_file("|u1", "(1,)", "\x07", false, 4)), "format 4 is not known");
}

TEST(Npy, TruncatedAnywhereIsAnError) {
  const std::string whole = npy_file("<f8", "(3,)", npy_bytes<double>({1, 2, 3}));
  EXPECT_EQ(array_of(whole).size, 3);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_PRED2(contains, error_in(whole.substr(0, length)), "a.npy");
  }
  EXPECT_PRED2(contains, error_in(whole.substr(0, whole.size() - 1)), "cut off: 23 B of numbers where 24 B");
  EXPECT_PRED2(contains, error_in(whole + "x"), "more bytes than its shape says");
}

TEST(Npy, HostileHeaders) {
  EXPECT_PRED2(contains, error_in(npy_file("<f8", "(4611686018427387904, 4611686018427387904)", "")),
               "impossibly large");
  EXPECT_PRED2(contains, error_in(npy_file("<f8", "(1000000000000,)", "12345678")), "cut off")
      << "without the memory";
  EXPECT_PRED2(contains, error_in(npy_file("<f8", "(-1,)", "")), "header is not one that NumPy writes");
  EXPECT_PRED2(contains, error_in(npy_file("<f8", "(99999999999999999999,)", "")), "header is not one");
  EXPECT_PRED2(contains, error_in(npy_file("<f8", "(1", "")), "header is not one");
  std::string deep = "(";
  for (int i = 0; i < 1000; ++i) deep += "1,";
  EXPECT_PRED2(contains, error_in(npy_file("<f8", deep + ")", "12345678")), "header is not one");
  EXPECT_PRED2(contains, error_in("\x93NUMPY\x02" + std::string("\0\xff\xff\xff\xff", 5)),
               "a header of 4.0 GiB");
  EXPECT_PRED2(contains, error_in("\x93NUMPY\x01" + std::string("\0\x02\0{}", 5)),
               "lacks descr, fortran_order or shape");
  EXPECT_PRED2(contains, error_in("label,text\n1,a\n"), "not a NumPy .npy file");
}

TEST(Npy, TypesThatAreNotNumbers) {
  EXPECT_PRED2(contains, error_in(npy_file("|O", "(1,)", "12345678")),
               "numbers of type \"|O\" are not known");
  for (const char* type : {"<U5", "<c8", "<f2", "f4", "<", "", "<f44"}) {
    EXPECT_PRED2(contains, error_in(npy_file(type, "(1,)", "12345678")), "a.npy: ");
  }
}

}  // namespace
}  // namespace mega::data
