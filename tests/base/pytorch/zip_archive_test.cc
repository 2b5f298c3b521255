#include "mega/base/pytorch/zip_archive.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"
#include "tests/base/pytorch/pickle_bytes.h"

namespace mega::testing {
namespace {

std::string contents(const std::string& bytes, const std::string& name) {
  ZipArchive archive(bytes_of(bytes), "file");
  const ZipEntry* entry = archive.find(name);
  require(entry != nullptr, "no such entry");
  const ZipContents read = archive.read(*entry);
  return {reinterpret_cast<const char*>(read.bytes.data()), read.bytes.size()};
}

std::string error_of_zip(const std::string& bytes, const std::string& name) {
  return error_of([&] { contents(bytes, name); });
}

ZipBytes example(bool large) {
  ZipBytes zip;
  zip.large = large;
  zip.add("a/stored", "stored bytes");
  zip.add("a/deflated", "deflated bytes", 8);
  zip.add("a/empty", "");
  zip.add("a/empty deflated", "", 8);
  return zip;
}

TEST(ZipArchive, ReadsStoredAndDeflatedEntries) {
  for (const bool large : {false, true}) {
    const std::string bytes = example(large).finish();
    EXPECT_TRUE(ZipArchive::recognizes(bytes_of(bytes)));
    EXPECT_EQ(contents(bytes, "a/stored"), "stored bytes");
    EXPECT_EQ(contents(bytes, "a/deflated"), "deflated bytes");
    EXPECT_EQ(contents(bytes, "a/empty"), "");
    EXPECT_EQ(contents(bytes, "a/empty deflated"), "");
  }
}

TEST(ZipArchive, LeavesStoredBytesWhereTheyAre) {
  const std::string bytes = example(true).finish();
  ZipArchive archive(bytes_of(bytes), "file");
  const ZipContents stored = archive.read(*archive.find("a/stored"));
  EXPECT_EQ(stored.owner, nullptr);
  EXPECT_EQ(reinterpret_cast<const char*>(stored.bytes.data()), bytes.data() + bytes.find("stored bytes"));
}

// Every archive that ends too early is an Error, wherever it ends.
TEST(ZipArchive, RefusesTruncatedFiles) {
  for (const bool large : {false, true}) {
    const std::string bytes = example(large).finish();
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_THROW(ZipArchive(bytes_of(bytes.substr(0, size)), "file"), Error) << size;
  }
}

// No changed bit goes unnoticed in contents, and none anywhere is worse than an Error.
TEST(ZipArchive, RefusesDamagedContents) {
  const std::string good = example(false).finish();
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    for (const char* name : {"a/stored", "a/deflated"}) {
      try {
        EXPECT_EQ(contents(bytes, name), contents(good, name)) << i;
      } catch (const Error&) {
      }
    }
  }
}

TEST(ZipArchive, BoundsWhatUnpacks) {
  ZipBytes more;
  more.add_raw("x", deflated("0123456789"), 9, crc_of("012345678"), 8);
  EXPECT_PRED2(contains, error_of_zip(more.finish(), "x"), "unpacks to more than the 9 bytes");
  ZipBytes fewer;
  fewer.add_raw("x", deflated("0123456789"), 11, 0, 8);
  EXPECT_PRED2(contains, error_of_zip(fewer.finish(), "x"), "damaged");
  ZipBytes impossible;
  impossible.add_raw("x", deflated("0123456789"), 1 << 20, 0, 8);
  EXPECT_PRED2(contains, error_of_zip(impossible.finish(), "x"), "cannot be the 1048576 bytes");
  const std::string bytes = example(false).finish();
  ZipArchive archive(bytes_of(bytes), "file", 10);
  EXPECT_PRED2(contains, error_of([&] { archive.read(*archive.find("a/deflated")); }), "unpacks to 14 bytes");
  EXPECT_PRED2(contains, error_of([&] { archive.read(*archive.find("a/stored"), 5); }), "the maximum is 5");
}

TEST(ZipArchive, RefusesAmbiguity) {
  ZipBytes twice;
  twice.add("x", "1");
  twice.add("x", "2");
  EXPECT_PRED2(contains, error_of_zip(twice.finish(), "x"), "\"x\": is there twice");
  ZipBytes packed;
  packed.add_raw("x", "1", 1, crc_of("1"), 12);
  EXPECT_PRED2(contains, error_of_zip(packed.finish(), "x"), "packed by method 12");
  // A directory of which one end record says more entries than the other.
  std::string differs = example(true).finish();
  differs[differs.rfind("PK\x05\x06") + 10] = 9;
  differs[differs.rfind("PK\x05\x06") + 11] = 0;
  EXPECT_PRED2(contains, error_of_zip(differs, "x"), "contradict each other");
}

}  // namespace
}  // namespace mega::testing
