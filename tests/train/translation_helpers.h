// A tiny pair of languages that translators learn in seconds: the same words in other letters.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "mega/base/files/file.h"
#include "mega/base/random.h"
#include "mega/data/parallel/recipe_pairs.h"
#include "mega/train/tasks/translation_task.h"
#include "tests/train/helpers.h"

namespace mega::testing {

inline TranslatorOptions tiny_translator() {
  TranslatorOptions options;
  options.encoder_layers = options.decoder_layers = 1;
  options.block.width = 32;
  options.block.values = 64;
  options.block.shared = 16;
  options.block.hidden = 64;
  options.block.max_positions = 32;
  options.block.chunk = -1;
  options.block.prenorm = true;
  options.block.ema.dimension = 4;
  return options;
}

// Lines of two to six words of one language and of the other, as STEM.en and STEM.de. Each word but the first
// follows from the one before; how a line begins, and where it ends, only the source tells.
inline void write_pairs(const std::filesystem::path& stem, int64_t count) {
  std::string source, target;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = stream_seed(5, stem.filename().string(), static_cast<uint64_t>(i));
    const uint64_t length = 2 + bits % 5, first = (bits >> 8) % 8;
    for (uint64_t k = 0; k < length; ++k) {
      const auto letter = static_cast<char>((first + k) % 8);
      source += std::string(k > 0 ? " " : "") + static_cast<char>('a' + letter);
      target += std::string(k > 0 ? " " : "") + static_cast<char>('p' + letter);
    }
    source += "\n";
    target += "\n";
  }
  write_file(stem.string() + ".en", source);
  write_file(stem.string() + ".de", target);
}

// Such a parallel text in a folder of its own, with its cache.
class TranslationTest : public ::testing::Test {
 protected:
  TranslationTest() {
    ::setenv("MEGA_CACHE", (folder_ / "cache").c_str(), 1);
    std::filesystem::create_directories(folder_ / "pairs");
    write_pairs(folder_ / "pairs/train", 400);
    write_pairs(folder_ / "pairs/valid", 40);
    write_pairs(folder_ / "pairs/test_one", 30);
    write_pairs(folder_ / "pairs/test_two", 20);
  }
  ~TranslationTest() override { ::unsetenv("MEGA_CACHE"); }

  Recipe recipe() const {
    Recipe recipe;
    recipe.model.model = tiny_translator();
    TranslationInput input;
    input.units = TextUnits::words;
    input.source_language = "en";
    input.target_language = "de";
    recipe.input.input = input;
    recipe.data.path = (folder_ / "pairs").string();
    recipe.train.learning_rate = 0.01;
    recipe.train.batch = 256;
    recipe.train.batch_unit = BatchUnit::tokens;
    recipe.train.updates = 12;
    recipe.train.evaluate = "4u";
    recipe.train.checkpoint = "3u";
    return recipe;
  }

  ScratchFolder folder_;
};

}  // namespace mega::testing
