#include "mega/base/files/protobuf.h"

#include <gtest/gtest.h>

#include <string>

namespace mega {
namespace {

using namespace std::string_view_literals;

bool is_damaged(std::string_view message) {
  ProtobufReader reader(message);
  while (reader.next()) {
  }
  return reader.damaged();
}

TEST(Protobuf, ReadsFieldsOfAllTypes) {
  ProtobufReader reader(
      "\x08\xac\x02\x12\x03"
      "abc\x1d\x01\x02\x03\x04\xa1\x06"
      "12345678\x2a\0"sv);
  auto field = reader.next();
  ASSERT_TRUE(field && field->is(1, WireType::varint));
  EXPECT_EQ(field->value, 300u);
  field = reader.next();
  ASSERT_TRUE(field && field->is(2, WireType::bytes));
  EXPECT_EQ(field->bytes, "abc");
  EXPECT_FALSE(field->is(2, WireType::varint));
  field = reader.next();
  ASSERT_TRUE(field && field->is(3, WireType::fixed32));
  EXPECT_EQ(field->bytes, "\x01\x02\x03\x04");
  field = reader.next();
  ASSERT_TRUE(field && field->is(100, WireType::fixed64));
  EXPECT_EQ(field->bytes, "12345678");
  field = reader.next();
  ASSERT_TRUE(field && field->is(5, WireType::bytes));
  EXPECT_EQ(field->bytes, "");
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.damaged());
}

TEST(Protobuf, DetectsDamage) {
  EXPECT_FALSE(is_damaged(""));
  EXPECT_FALSE(is_damaged("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
  for (const std::string_view message :
       {"\x08"sv, "\x08\x80"sv,
        "\x12\x04"
        "abc"sv,
        "\x1d\x01\x02\x03"sv,
        "\x21"
        "1234567"sv,
        "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv,
        "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, "\0\0"sv, "\x0b"sv, "\x0c"sv, "\x0e\0"sv,
        "\x0f\0"sv, "\xff\xff\xff\xff\xff\x01\0"sv})
    EXPECT_TRUE(is_damaged(message));
}

}  // namespace
}  // namespace mega
