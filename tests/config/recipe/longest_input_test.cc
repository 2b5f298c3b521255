#include "mega/config/recipe/longest_input.h"

#include <gtest/gtest.h>

namespace mega {
namespace {

TEST(LongestInput, IsWhatTheOptionsAllow) {
  InputOptions options;
  TextInput text;
  text.max_length = 300;
  options.input = text;
  EXPECT_EQ(longest_input(options), 300);
  ImageInput image;
  image.height = 5;
  image.width = 7;
  options.input = image;
  EXPECT_EQ(longest_input(options), 35);
  AudioInput audio;
  audio.length = 16000;
  options.input = audio;
  EXPECT_EQ(longest_input(options), 16000);
  options.input = LanguageInput{};
  EXPECT_EQ(longest_input(options), 0) << "no limit";
}

}  // namespace
}  // namespace mega
