// Writes a small translator with random weights, for tests of the programs.
// usage: make_translator FILE bytes|words SEED
#include <cstdio>
#include <cstdlib>
#include <string>

#include "mega/base/error.h"
#include "tests/infer/tiny_model.h"

namespace {

void write(const char* path, const std::string& units, uint32_t seed) {
  mega::TranslatorOptions model = mega::testing::tiny_translator();
  mega::TranslationInput input;
  input.source_language = "en";
  input.target_language = "de";
  input.max_length = 64;
  mega::Signature signature;
  if (units == "bytes") {
    model.vocabulary = 264;
  } else {
    input.units = mega::TextUnits::words;
    signature.vocabulary = "a\nhouse\nthe\nis\nred\n.\nThe\nA\nHaus\nrot\n";
    model.vocabulary = 16;
  }
  signature.input.input = input;
  mega::testing::write_random_model(path, {model}, seed, &signature);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    write(argv[1], argv[2], static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10)));
  } catch (const mega::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
