#include "mega/distributed/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace mega::distributed {
namespace {

std::string hex(const Digest& digest) {
  std::string text;
  for (const uint8_t byte : digest)
    for (const int half : {byte >> 4, byte & 15}) text += "0123456789abcdef"[half];
  return text;
}

// FIPS 180-4, and lengths around the block, by coreutils' sha256sum.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(55, 'a'))),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hex(sha256(std::string(64, 'a'))),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

// RFC 4231, test cases 2 and 6.
TEST(Sha256, KnownCodes) {
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Sha256, EqualIsEqual) {
  EXPECT_TRUE(equal(sha256("a"), sha256("a")));
  EXPECT_FALSE(equal(sha256("a"), sha256("b")));
}

}  // namespace
}  // namespace mega::distributed
