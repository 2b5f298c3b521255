#include "mega/config/files/state_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "mega/base/files/file.h"
#include "mega/base/files/tensor_hash.h"
#include "mega/base/hash.h"
#include "mega/base/strings.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

class StateFileTest : public ::testing::Test {
 protected:
  std::vector<TensorView> tensors() const {
    return {{"blocks.0.ema", DType::F32, {1, 2, 2}, std::as_bytes(std::span(values_))},
            {"features", DType::F32, {3}, std::as_bytes(std::span(values_).first(3))}};
  }
  void write() const { write_state_file(path_, 0xABCDu, {{"blocks", 1}, {"position", 77}}, tensors()); }

  // The error of a well-formed file with this metadata.
  std::string error_with(const Metadata& metadata) const {
    write_safetensors(path_, tensors(), metadata);
    return error_of([&] { StateFile::open(path_); });
  }

  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_ / "state";
  const std::vector<float> values_ = {1, 2, 3, 4};
};

StateFile parse(const std::string& bytes) { return StateFile::parse(std::as_bytes(std::span(bytes)), "x"); }

TEST_F(StateFileTest, ReadsWhatItWrote) {
  write();
  const StateFile file = StateFile::open(path_);
  EXPECT_EQ(file.fingerprint, 0xABCDu);
  EXPECT_EQ(file.numbers, (std::map<std::string, int64_t>{{"blocks", 1}, {"position", 77}}));
  EXPECT_EQ(file.number("position"), 77);
  EXPECT_PRED2(contains, error_of([&] { file.number("none"); }), "state: has no number \"none\"");
  ASSERT_EQ(file.tensors.tensors().size(), 2u);
  EXPECT_EQ(std::memcmp(file.tensors.at("blocks.0.ema").data.data(), values_.data(), 16), 0);

  write_state_file(path_, {}, {}, {});
  EXPECT_FALSE(StateFile::open(path_).fingerprint.has_value());
}

TEST_F(StateFileTest, EveryChangedByteIsAnError) {
  write();
  const std::string good = read_file(path_);
  EXPECT_NO_THROW(parse(good));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    for (int value = 0; value < 256; ++value) {
      bad[i] = static_cast<char>(value);
      if (bad[i] != good[i]) {
        EXPECT_THROW(parse(bad), Error) << "byte " << i << " as " << value;
      }
    }
  }
}

TEST_F(StateFileTest, EveryCutIsAnError) {
  write();
  const std::string good = read_file(path_);
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW(parse(good.substr(0, length)), Error) << length;
  EXPECT_THROW(parse(good + '\0'), Error);
}

TEST_F(StateFileTest, RefusesOtherFiles) {
  EXPECT_PRED2(contains, error_with({}), "not a state file: its metadata has no \"format\"");
  EXPECT_PRED2(contains, error_with({{"format", "mega-state-1"}}),
               "a state of format \"mega-state-1\", this version reads \"mega-state-2\"");
  EXPECT_PRED2(contains, error_with({{"format", "mega-state-2"}}), "the checksum does not match");
  EXPECT_THROW(StateFile::open(folder_ / "nothing"), Error);
}

// With a checksum that is right: somebody made them so.
TEST_F(StateFileTest, RefusesWhatIsNoNumber) {
  const auto error = [&](const std::string& key, const std::string& text) {
    Metadata metadata = {{"format", "mega-state-2"}, {key, text}};
    uint64_t sum = 0;
    for (const auto& [name, value] : metadata) sum = hash_text(value, hash_text(name, sum));
    metadata["checksum"] = hexadecimal(hash_tensors(tensors(), sum));
    return error_with(metadata);
  };
  for (const char* text : {"", "-1", "1e9", "0x10", " 1", "1 ", "99999999999999999999999"})
    EXPECT_PRED2(contains, error("position", text), "\"position\": expected a whole number from 0, got");
  for (const char* text : {"", "-1", "ghost", "0x10", "11111111111111111"})
    EXPECT_PRED2(contains, error("fingerprint", text), "fingerprint: expected a whole number from 0 in hex");
}

TEST_F(StateFileTest, WritesOnlyWhatItCanRead) {
  EXPECT_PRED2(contains, error_of([&] {
                 write_state_file(path_, {}, {{"checksum", 1}}, {});
               }),
               "the format itself writes \"checksum\"");
  EXPECT_PRED2(contains, error_of([&] {
                 write_state_file(path_, {}, {{"position", -1}}, {});
               }),
               "\"position\" is -1");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace mega
