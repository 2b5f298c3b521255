#include "mega/data/formats/tar_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/base/helpers.h"
#include "tests/data/formats/tar_bytes.h"

namespace mega::data {
namespace {

using namespace ::mega::testing;

class TarFileTest : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& bytes) const {
    std::ofstream(scratch_ / "a.tar", std::ios::binary) << bytes;
    return scratch_ / "a.tar";
  }
  std::string error(const std::string& bytes) const {
    return error_of([&] { TarFile(put(bytes)).members(); });
  }

  ScratchFolder scratch_;
};

TEST_F(TarFileTest, FindsFilesAndReadsThem) {
  const std::string long_name(300, 'n');
  const TarFile tar(
      put(tar_entry("folder/", "", '5') + tar_entry("a.txt", "alpha") + tar_entry("empty", "") +
          tar_entry("b", std::string(513, 'b'), '\0', "some/prefix") + tar_entry("link", "", '2') +
          tar_entry("././@LongLink", long_name + '\0', 'L') + tar_entry("cut", "gnu") +
          tar_entry("pax", pax_record("mtime", "1.5") + pax_record("path", "ü/" + long_name), 'x') +
          tar_entry("cut", "posix") + tar_entry("global", pax_record("comment", "x"), 'g') +
          tar_entry("last", "omega") + tar_end() + "rubbish"));
  const std::vector<TarMember> members = tar.members();
  std::vector<std::string> names;
  for (const TarMember& member : members) names.push_back(member.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a.txt", "empty", "some/prefix/b", long_name, "ü/" + long_name,
                                             "last"}));
  EXPECT_EQ(tar.read(members[0], 100), "alpha");
  EXPECT_EQ(tar.read(members[1], 100), "");
  EXPECT_EQ(tar.read(members[2], 1000), std::string(513, 'b'));
  EXPECT_EQ(tar.read(members[3], 100), "gnu");
  EXPECT_EQ(tar.read(members[4], 100), "posix");
  EXPECT_EQ(tar.read(members[5], 100), "omega");
  EXPECT_PRED2(contains, error_of([&] { tar.read(members[2], 100); }), "a.tar/some/prefix/b: a file of 513");
}

TEST_F(TarFileTest, AnArchiveInAnArchive) {
  const std::string inner = tar_entry("x.jpg", "picture") + tar_end();
  const TarFile tar(put(tar_entry("n01.tar", inner) +
                        tar_entry("n02.tar", "no archive" + std::string(600, '.')) + tar_end()));
  const std::vector<TarMember> members = tar.members();
  ASSERT_EQ(members.size(), 2U);
  const std::vector<TarMember> inside = tar.members(members[0]);
  ASSERT_EQ(inside.size(), 1U);
  EXPECT_EQ(inside[0].name, "x.jpg");
  EXPECT_EQ(tar.read(inside[0], 100), "picture");
  EXPECT_PRED2(contains, error_of([&] { tar.members(members[1]); }), "a.tar/n02.tar: not a tar archive");
}

TEST_F(TarFileTest, SizesOfGnuAndPax) {
  std::string large = tar_entry("a", "12345");
  large.replace(124, 12, '\x80' + std::string(10, '\0') + '\x05');
  std::string header = large.substr(0, 512);
  set_checksum(header);
  large.replace(0, 512, header);
  const TarFile tar(
      put(large + tar_entry("p", pax_record("size", "3"), 'x') + tar_entry("b", "xyz") + tar_end()));
  ASSERT_EQ(tar.members().size(), 2U);
  EXPECT_EQ(tar.read(tar.members()[0], 100), "12345");
  EXPECT_EQ(tar.read(tar.members()[1], 100), "xyz");
}

TEST_F(TarFileTest, WhatIsDamagedIsAnError) {
  const std::string good = tar_entry("a.txt", std::string(700, 'a')) + tar_entry("b.txt", "b") + tar_end();
  EXPECT_TRUE(TarFile(put("")).members().empty());
  EXPECT_PRED2(contains, error(std::string(600, 'x')), "not a tar archive");
  EXPECT_PRED2(contains, error("\x1f\x8b" + std::string(600, 'x')), "unpacked to a plain .tar first");
  EXPECT_PRED2(contains, error(good.substr(0, 1000)), "the archive ends inside \"a.txt\"");
  std::string broken = good;
  broken[1536 + 3] = 'X';
  EXPECT_PRED2(contains, error(broken), "damaged at byte 1536");
  EXPECT_PRED2(contains, error(tar_entry("p", "99 path=x\n", 'x') + tar_end()), "damaged or sparse pax");
  EXPECT_PRED2(contains, error(tar_entry("p", pax_record("GNU.sparse.major", "1"), 'x') + tar_end()),
               "sparse");
  EXPECT_PRED2(contains, error(tar_entry("s", "x", 'S') + tar_end()), "sparse");
  EXPECT_PRED2(contains, error(tar_entry("p", std::string(2 << 20, 'x'), 'x') + tar_end()), "a header of");
  std::string endless = tar_entry("a", "");
  endless.replace(124, 11, "77777777777");
  std::string header = endless.substr(0, 512);
  set_checksum(header);
  EXPECT_PRED2(contains, error(header), "ends inside");
  EXPECT_PRED2(contains, error_of([&] { TarFile(scratch_ / "none.tar"); }), "none.tar");
  // Whatever a byte becomes, there are members within the file, or an Error.
  for (size_t i = 0; i < 512; i += i < 160 ? 1 : 7) {
    for (const unsigned char value : {0x00, 0x37, 0x80}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(value);
      try {
        const TarFile tar(put(bytes));
        for (const TarMember& member : tar.members()) {
          ASSERT_GE(member.offset, 512);
          ASSERT_LE(member.offset + member.size, std::ssize(bytes));
        }
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace mega::data
