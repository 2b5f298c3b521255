#include <gtest/gtest.h>

#include <numeric>

#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"

namespace mega {
namespace {

// What the released models have, instantiated from their registered architectures.
const std::map<std::string, int64_t> kReleased = {{"lra-listops", 602'578},
                                                  {"lra-listops-chunk", 580'090},  //
                                                  {"lra-text", 990'996},
                                                  {"lra-text-chunk", 960'004},  //
                                                  {"lra-retrieval", 1'485'598},
                                                  {"lra-retrieval-chunk", 1'439'110},  //
                                                  {"lra-image", 2'839'096},
                                                  {"lra-image-chunk", 2'824'760},  //
                                                  {"lra-pathfinder", 1'386'874},
                                                  {"lra-pathfinder-chunk", 1'376'122},  //
                                                  {"lra-pathx", 381'948},
                                                  {"lra-pathx-chunk", 283'644},  //
                                                  {"sc-base", 343'134},
                                                  {"sc-big", 475'890},  //
                                                  {"enwik8", 39'137'792},
                                                  {"wikitext103", 252'237'824},  //
                                                  {"wmt16-en-de", 63'136'750},
                                                  {"wmt16-en-de-laplace", 63'136'750},  //
                                                  {"wmt16-de-en", 63'136'750},
                                                  {"wmt16-de-en-laplace", 63'136'750},  //
                                                  {"imagenet", 90'734'140},
                                                  {"deit-b", 86'567'656},  //
                                                  {"vit-b", 86'859'496},
                                                  {"resnet-152", 60'192'808},  //
                                                  {"lra-listops-s4", 600'330},
                                                  {"lra-listops-s4-v1", 303'498},  //
                                                  {"lra-text-s4", 1'355'778},
                                                  {"lra-text-s4-v1", 233'730},  //
                                                  {"lra-retrieval-s4", 1'487'104},
                                                  {"lra-retrieval-s4-v1", 994'432},  //
                                                  {"lra-image-s4", 3'565'834},
                                                  {"lra-image-s4-v1", 2'381'194},  //
                                                  {"lra-pathfinder-s4", 1'288'706},
                                                  {"lra-pathfinder-s4-v1", 796'034},  //
                                                  {"lra-pathx-s4", 1'288'706},
                                                  {"lra-pathx-s4-v1", 796'034},  //
                                                  {"sc-base-s4", 300'938}};

// What the paper compares with. The vocabulary of the Long Range Arena is 7 smaller.
const std::map<std::string, int64_t> kBaselines = {{"lra-text-transformer", 3'492'352},
                                                   {"lra-text-reformer", 2'962'434 + 7 * 256},
                                                   {"lra-text-linformer", 3'742'786 + 7 * 256},
                                                   {"lra-text-bigbird", 3'486'722 + 7 * 256},
                                                   {"lra-text-performer", 3'486'722 + 7 * 256},
                                                   {"lra-text-luna", 4'349'952},
                                                   {"lra-listops-luna", 5'157'888},
                                                   {"lra-retrieval-luna", 1'191'936},
                                                   {"lra-image-luna", 72'448},
                                                   {"lra-pathfinder-luna", 216'448},
                                                   {"lra-text-flash", 529'169},
                                                   {"lra-image-flash", 2'694'904},
                                                   {"lra-pathfinder-flash", 1'005'818},
                                                   // S4 without P, which has a pair of 32 numbers for each of
                                                   // 256 channels in 6 layers
                                                   {"lra-text-s4d", 1'355'778 - 6 * 256 * 2 * 32},
                                                   {"wikitext103-transformer", 246'933'504}};

TEST(ParameterCount, HasTheParametersOfTheReleasedModels) {
  std::map<std::string, int64_t> all = kReleased;
  all.insert(kBaselines.begin(), kBaselines.end());
  for (const auto& [preset, expected] : all) {
    SCOPED_TRACE(preset);
    const ParameterCount count = count_parameters(load_preset(preset).model);
    EXPECT_EQ(count.total, expected);
    const int64_t sum = std::accumulate(count.parts.begin(), count.parts.end(), int64_t{0},
                                        [](int64_t total, const auto& part) { return total + part.second; });
    EXPECT_EQ(sum, expected) << "the parts together";
  }
}

TEST(ParameterCount, EveryClassifierOfThePaperIsThere) {
  for (const std::string& name : preset_names()) {
    const bool classifier = name.starts_with("lra-") || name.starts_with("sc-");
    EXPECT_TRUE(!classifier || kReleased.contains(name) || kBaselines.contains(name)) << name;
  }
}

TEST(ParameterCount, OfATranslatorByItsVocabulary) {
  ModelOptions options = load_preset("wmt16-en-de").model;
  const auto total = [&](int64_t vocabulary) {
    translation_options(options)->vocabulary = vocabulary;
    return count_parameters(options).total;
  };
  EXPECT_EQ(total(33'008), 63'259'630);
  EXPECT_EQ(total(40'320), 67'003'374);
  const auto parts = count_parameters(options).parts;
  EXPECT_EQ(parts.at("embedding"), 20'643'840) << "both languages and the output layer have the same";
  EXPECT_EQ(parts.at("positions"), 36'846);
}

// Transformer-base: the paper says 65M.
TEST(ParameterCount, OfTheTransformerBesideATranslator) {
  ModelOptions options = load_preset("wmt16-en-de").model;
  for (const auto& [vocabulary, expected] : {std::pair(32'768, 60'915'712), std::pair(40'320, 64'782'336)}) {
    translation_options(options)->vocabulary = vocabulary;
    EXPECT_EQ(count_parameters(*baseline_of(options, "transformer")).total, expected);
    TransformerTranslationOptions base;
    base.vocabulary = vocabulary;
    EXPECT_EQ(count_parameters({base}).total, expected) << "by default";
  }
}

TEST(ParameterCount, OfModelsOfPictures) {
  ImageClassifierOptions tiny;
  tiny.block.width = 192;
  tiny.block.values = tiny.block.hidden = 384;
  EXPECT_EQ(count_parameters({tiny}).total, 6'209'596) << "the released mega_tiny_patch16_224";

  const ModelOptions base = load_preset("imagenet").model;
  const auto parts = count_parameters(base).parts;
  EXPECT_EQ(parts.at("positions"), 150'528 + 12 * 391);
  EXPECT_EQ(parts.at("embedding"), 590'592);
  EXPECT_EQ(parts.at("ema"), 12 * 99'072);
  EXPECT_EQ(parts.at("head"), 590'592 + 769'000);
  int64_t decayed = 0, others = 0;
  for (const TensorInfo& tensor : base.kind().tensors())
    (tensor.decays ? decayed : others) += tensor.elements();
  EXPECT_EQ(decayed, 90'447'444);
  EXPECT_EQ(others, 286'696);

  VisionTransformerOptions deit;
  deit.distilled = true;
  EXPECT_EQ(count_parameters({deit}).total, 87'338'192);
  deit.distilled = false;
  deit.width = 384, deit.hidden = 1536, deit.heads = 6;
  EXPECT_EQ(count_parameters({deit}).total, 22'050'664);
  deit.width = 192, deit.hidden = 768, deit.heads = 3;
  EXPECT_EQ(count_parameters({deit}).total, 5'717'416);

  int64_t buffers = 0;
  for (const TensorInfo& tensor : ResNetOptions().tensors())
    buffers += tensor.is_parameter ? 0 : tensor.elements();
  EXPECT_EQ(buffers, 151'579);
}

TEST(ParameterCount, SeparateVocabulariesAndUntiedOutput) {
  TranslatorOptions options;
  options.block.width = options.block.values = options.block.hidden = 8;
  options.block.shared = 4;
  options.vocabulary = 100;
  const int64_t shared = count_parameters({options}).total;
  options.share_embeddings = false;
  EXPECT_EQ(count_parameters({options}).total, shared + 100 * 8);
  options.source_vocabulary = 30;
  EXPECT_EQ(count_parameters({options}).total, shared + 30 * 8);
  options.tie_output = false;
  EXPECT_EQ(count_parameters({options}).total, shared + (30 + 100) * 8);
}

TEST(ParameterCount, SaysWhichPartsThereAre) {
  const auto parts = count_parameters(load_preset("lra-text").model).parts;
  EXPECT_EQ(parts.at("embedding"), 33'792);
  EXPECT_EQ(parts.at("positions"), 32'012);
}

}  // namespace
}  // namespace mega
