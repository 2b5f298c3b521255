#include "mega/kernels/instruction_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace mega::kernels {
namespace {

TEST(InstructionSet, IsTheStrongestUsableUpToTheLimit) {
  const auto usable = usable_instruction_sets();
  ASSERT_FALSE(usable.empty());
  EXPECT_EQ(usable.front(), InstructionSet::baseline);
  EXPECT_TRUE(std::is_sorted(usable.begin(), usable.end()));
  EXPECT_EQ(chosen_instruction_set(), usable.back());

  std::set<std::string> names;
  for (const InstructionSet set : usable) {
    limit_instruction_set(set);
    EXPECT_EQ(chosen_instruction_set(), set);
    names.insert(instruction_set());
  }
  EXPECT_EQ(names.size(), usable.size());
  EXPECT_FALSE(names.contains("Unknown"));

  // A limit above what this machine supports selects its strongest.
  limit_instruction_set(InstructionSet::amx);
  EXPECT_EQ(chosen_instruction_set(), usable.back());
}

}  // namespace
}  // namespace mega::kernels
