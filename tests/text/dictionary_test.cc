#include "mega/text/dictionary.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::testing {
namespace {

TEST(Dictionary, KeepsItsOrder) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "dict.txt";
  const auto read = [&](std::string_view text) {
    write_file(path, text);
    return read_dictionary(path.string());
  };
  EXPECT_EQ(read("the 110\n\xC3\xA4@@ 3\n32 1\n"), "the\n\xC3\xA4@@\n32\n");
  EXPECT_EQ(read("a 1 \r\nb 2"), "a\nb\n");
  EXPECT_EQ(read("a 1 #fairseq:overwrite\n"), "a\n");
  EXPECT_PRED2(contains, error_of([&] { read("a 1\nb\n"); }), "dict.txt:2: expected a symbol, a blank");
  EXPECT_PRED2(contains, error_of([&] { read("</s> 1\n"); }), "</s> has a number of its own");
  EXPECT_PRED2(contains, error_of([&] { read("\xFF 1\n"); }), "UTF-8");
}

}  // namespace
}  // namespace mega::testing
