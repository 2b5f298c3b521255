#include "mega/report/event_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The checksum bit by bit, by definition.
uint32_t slow_checksum(std::string_view bytes) {
  uint32_t rest = 0xffffffff;
  for (const char c : bytes) {
    rest ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 1) != 0 ? rest >> 1 ^ 0x82f63b78 : rest >> 1;
  }
  return rest ^ 0xffffffff;
}

uint64_t masked(std::string_view bytes) {
  const uint32_t sum = slow_checksum(bytes);
  return (sum >> 15 | sum << 17) + 0xa282ead8u;
}

// The events of a file; verifies all checksums.
std::vector<std::string> records_of(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  std::string_view rest = file;
  std::vector<std::string> records;
  while (!rest.empty()) {
    const uint64_t size = little_endian(rest.substr(0, 8));
    EXPECT_EQ(little_endian(rest.substr(8, 4)), masked(rest.substr(0, 8)) & 0xffffffff);
    const std::string_view event = rest.substr(12, size);
    EXPECT_EQ(little_endian(rest.substr(12 + size, 4)), masked(event) & 0xffffffff);
    records.emplace_back(event);
    rest.remove_prefix(12 + size + 4);
  }
  return records;
}

// Fields of a message by number: eight, four or any number of bytes; varints as eight.
std::map<int, std::string> fields_of(std::string_view message) {
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(0));
      message.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  std::map<int, std::string> fields;
  while (!message.empty()) {
    const uint64_t key = varint();
    std::string& field = fields[static_cast<int>(key >> 3)];
    if (key % 8 == 0) {
      const uint64_t value = varint();
      field.assign(reinterpret_cast<const char*>(&value), sizeof value);
      continue;
    }
    const size_t size = key % 8 == 1 ? 8 : key % 8 == 5 ? 4 : varint();
    field = message.substr(0, size);
    message.remove_prefix(size);
  }
  return fields;
}

float float_of(const std::string& bytes) {
  return std::bit_cast<float>(static_cast<uint32_t>(little_endian(bytes)));
}

TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
}

TEST(EventFile, NameAndFirstRecord) {
  const ScratchFolder folder;
  const double before =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const EventFile file(folder / "new/folder");
  EXPECT_EQ(file.path().parent_path(), folder / "new/folder");
  const std::string name = file.path().filename().string();
  EXPECT_TRUE(name.starts_with("events.out.tfevents.")) << name;
  EXPECT_NEAR(std::stod(name.substr(20)), before, 5);
  const std::vector<std::string> records = records_of(file.path());
  ASSERT_EQ(records.size(), 1u);
  std::map<int, std::string> event = fields_of(records[0]);
  EXPECT_EQ(event[3], "brain.Event:2");
  EXPECT_NEAR(std::bit_cast<double>(little_endian(event[1])), before, 5);
}

TEST(EventFile, ScalarsAreReadableWhileOpen) {
  const ScratchFolder folder;
  EventFile file(folder.path());
  file.scalar("loss/train", 0, 1.5);
  file.scalar("loss/train", 300, -0.25);
  file.scalar("loss/valid", int64_t{1} << 40, std::numeric_limits<double>::quiet_NaN());
  const std::vector<std::string> records = records_of(file.path());
  ASSERT_EQ(records.size(), 4u);

  std::map<int, std::string> event = fields_of(records[2]);
  EXPECT_EQ(little_endian(event[2]), 300u);
  std::map<int, std::string> value = fields_of(fields_of(event[5])[1]);
  EXPECT_EQ(value[1], "loss/train");
  EXPECT_EQ(float_of(value[2]), -0.25f);

  event = fields_of(records[3]);
  EXPECT_EQ(little_endian(event[2]), uint64_t{1} << 40);
  value = fields_of(fields_of(event[5])[1]);
  EXPECT_EQ(value[1], "loss/valid");
  EXPECT_TRUE(std::isnan(float_of(value[2])));
}

TEST(EventFile, Text) {
  const ScratchFolder folder;
  EventFile file(folder.path());
  const std::string long_text(1000, 'x');
  file.text("configuration", 7, long_text + "\xff");
  const std::vector<std::string> records = records_of(file.path());
  ASSERT_EQ(records.size(), 2u);
  std::map<int, std::string> event = fields_of(records[1]);
  EXPECT_EQ(little_endian(event[2]), 7u);
  std::map<int, std::string> value = fields_of(fields_of(event[5])[1]);
  EXPECT_EQ(value[1], "configuration");
  EXPECT_EQ(fields_of(fields_of(value[9])[1])[1], "text") << "plugin name";
  std::map<int, std::string> tensor = fields_of(value[8]);
  EXPECT_EQ(little_endian(tensor[1]), 7u) << "DT_STRING";
  EXPECT_EQ(little_endian(fields_of(fields_of(tensor[2])[2])[1]), 1u) << "one element";
  EXPECT_EQ(tensor[8], long_text + "\uFFFD") << "Protocol Buffers reject invalid UTF-8";
}

TEST(EventFile, ErrorsNameTheFolder) {
  const ScratchFolder folder;
  write_file(folder / "file", "");
  EXPECT_PRED2(contains, error_of([&] { EventFile file(folder / "file/inside"); }),
               "inside: cannot create the folder");
}

}  // namespace
}  // namespace mega
