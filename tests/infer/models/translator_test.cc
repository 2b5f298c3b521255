// The engine's translator: hypotheses side by side against each target read alone and at once, for any
// options; restricted vocabularies, quantised files, and files that are not what they should be.
#include "mega/infer/models/translator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "mega/base/error.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/infer/quantize.h"
#include "mega/infer/translation/beam_search.h"
#include "mega/infer/translation/score_pairs.h"
#include "mega/kernels/log_softmax.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using mega::testing::ScratchFolder;
using mega::testing::tiny_translator;
using mega::testing::write_random_model;
using Tokens = std::vector<Token>;

class TranslatorTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Translator> make(const TranslatorOptions& options) {
    ModelOptions all;
    all.model = options;
    write_random_model(path_, all);
    return Translator::open(path_);
  }

  Tokens draw(int64_t length, int64_t vocabulary = 37) {
    Tokens tokens;
    while (std::ssize(tokens) < length)
      tokens.push_back(static_cast<Token>(4 + random_() % static_cast<uint64_t>(vocabulary - 4)));
    tokens.push_back(kEnd);
    return tokens;
  }

  // Log-probabilities after each token of a target, which begins with </s>, all read at once.
  std::vector<std::vector<float>> whole(const Translator& model, const Tokens& source, const Tokens& target) {
    Workspace work;
    const infer::Run run{*pool_, work};
    const Sources sources = model.encode({&source, 1}, run);
    const Segment segment{nullptr, 0, std::ssize(target), 0};
    const kernels::Rows features = model.read(target, {&segment, 1}, sources, run);
    const int64_t vocabulary = model.options().vocabulary;
    std::vector<std::vector<float>> rows;
    for (int64_t i = 0; i < std::ssize(target); ++i) {
      std::vector<float>& row = rows.emplace_back(static_cast<size_t>(vocabulary));
      multiply(model.output(), {features[i], features.stride}, {row.data(), vocabulary}, 1, run);
      kernels::log_softmax({row.data(), vocabulary}, {row.data(), vocabulary}, 0, 1, vocabulary);
    }
    return rows;
  }

  static void expect_close(std::span<const float> expected, std::span<const float> actual, double tolerance) {
    ASSERT_EQ(expected.size(), actual.size());
    double worst = 0.0, largest = 1.0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double difference = std::abs(static_cast<double>(expected[i]) - static_cast<double>(actual[i]));
      if (!(difference <= worst)) worst = difference;  // also NaN
      largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    }
    EXPECT_LE(worst, tolerance * largest);
  }

  // Hypotheses that fork, end and go on at random; every few steps each is compared with its target read at
  // once.
  void check_decoding(const TranslatorOptions& options, int64_t steps, std::vector<int64_t> lengths,
                      int64_t every = 1) {
    const auto model = make(options);
    std::vector<Tokens> sources;
    for (const int64_t length : lengths) sources.push_back(draw(length));
    TranslatorDecoder decoder(model, pool_);
    decoder.begin(sources);
    struct Row {
      size_t source;
      Tokens target;
    };
    std::vector<Row> rows;
    for (int64_t step = 0; step < steps; ++step) {
      std::vector<int64_t> parents;
      Tokens tokens;
      std::vector<Row> next;
      for (size_t i = 0; i < (step == 0 ? sources.size() : 5); ++i) {
        const auto parent = step == 0 ? i : random_() % rows.size();
        const Token token = step == 0 ? Token{kEnd} : static_cast<Token>(4 + random_() % 33);
        parents.push_back(static_cast<int64_t>(parent));
        tokens.push_back(token);
        next.push_back(step == 0 ? Row{i, {}} : rows[parent]);
        next.back().target.push_back(token);
      }
      rows = next;
      const auto scores = decoder.step(parents, tokens);
      for (size_t i = 0; i < rows.size() && step % every == 0; ++i) {
        const auto expected = whole(*model, sources[rows[i].source], rows[i].target).back();
        expect_close(expected, scores.subspan(i * expected.size(), expected.size()), 1e-5);
        const auto weights = decoder.alignment(static_cast<int64_t>(i));
        ASSERT_EQ(weights.size(), sources[rows[i].source].size());
        if (options.block.attention != AttentionFunction::softmax) continue;
        double sum = 0.0;
        for (const float weight : weights) sum += static_cast<double>(weight);
        EXPECT_NEAR(sum, 1.0, 1e-5);
      }
      if (HasFailure()) return;
    }
  }

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(2);
  std::mt19937 random_{7};
};

TEST_F(TranslatorTest, StepsAreTheWholeTarget) {
  for (const AttentionFunction function :
       {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace}) {
    for (const auto& [position, name] : EnumNames<PositionKind>::names) {
      SCOPED_TRACE(std::string(name) + " " + std::string(to_string(function)));
      TranslatorOptions options = tiny_translator();
      options.block.attention = function;
      options.block.position = position;
      options.block.chunk = function == AttentionFunction::relu2 ? 5 : -1;
      options.block.prenorm = function == AttentionFunction::laplace;
      options.block.max_positions = 50;
      check_decoding(options, 12, {1, 7, 0, 30}, 3);
    }
  }
}

// More than one page of keys, chunks longer than a page, and sources longer than a range of keys.
TEST_F(TranslatorTest, LongTextsAgree) {
  for (const int64_t chunk : {-1, 24}) {
    TranslatorOptions options = tiny_translator();
    options.block.chunk = chunk;
    check_decoding(options, 50, {1100, 3, 600}, 7);
  }
}

TEST_F(TranslatorTest, EveryNormAndEmbeddingWorks) {
  for (const auto& [norm, name] : EnumNames<NormKind>::names) {
    for (const bool prenorm : {false, true}) {
      SCOPED_TRACE(std::string(name) + (prenorm ? " prenorm" : " postnorm"));
      TranslatorOptions options = tiny_translator();
      options.block.norm = norm;
      options.block.norm_groups = 2;
      options.block.prenorm = prenorm;
      options.normalize_embedding = !prenorm;
      options.share_embeddings = prenorm;
      options.source_vocabulary = prenorm ? 0 : 40;
      options.tie_output = prenorm || norm == NormKind::layer;
      options.scale_embedding = !prenorm;
      options.block.hidden = prenorm ? 0 : 28;
      check_decoding(options, 5, {4, 9});
    }
  }
}

TEST_F(TranslatorTest, TheBatchDoesNotMatter) {
  const auto model = make(tiny_translator());
  std::vector<SearchSentence> sentences;
  for (uint64_t i = 0; i < 7; ++i) sentences.push_back({draw(static_cast<int64_t>(i * i % 11)), {}, i});
  SearchOptions options;
  options.nbest = 5;
  TranslatorDecoder decoder(model, pool_);
  const auto together = beam_search(decoder, sentences, options);
  const auto single = std::make_shared<ThreadPool>(1);
  for (size_t i = 0; i < sentences.size(); ++i) {
    TranslatorDecoder alone(model, single);
    const NBest best = beam_search(alone, {&sentences[i], 1}, options)[0];
    ASSERT_EQ(best.size(), together[i].size());
    for (size_t k = 0; k < best.size(); ++k) {
      EXPECT_EQ(best[k].tokens, together[i][k].tokens);
      EXPECT_EQ(best[k].score, together[i][k].score);
      EXPECT_EQ(best[k].aligned, together[i][k].aligned);
    }
    // The scores are those of the pair.
    const auto scores = score_pairs(alone, {{sentences[i].source}}, {{best[0].tokens}})[0];
    expect_close(scores, best[0].log_probabilities, 1e-6);
  }
}

TEST_F(TranslatorTest, ARestrictedVocabularyHasTheColumnsOfAll) {
  for (const kernels::WeightType type :
       {kernels::WeightType::f32, kernels::WeightType::bf16, kernels::WeightType::i8}) {
    make(tiny_translator());
    std::filesystem::path path = path_;
    if (type != kernels::WeightType::f32) {
      path = folder_ / "quantized.safetensors";
      quantize(path_, path, type);
    }
    const auto model = Translator::open(path);
    const std::vector<Tokens> sources = {draw(5), draw(9)};
    const Tokens some = {kEnd, kUnknown, 8, 20, 36};
    TranslatorDecoder all(model, pool_), few(model, pool_);
    all.begin(sources);
    few.begin(sources);
    ASSERT_TRUE(few.restrict(some));
    const std::vector<int64_t> parents = {0, 1};
    for (const Token token : {Token{kEnd}, Token{8}, Token{30}}) {
      const Tokens tokens = {token, token};
      const auto full = all.step(parents, tokens), part = few.step(parents, tokens);
      ASSERT_EQ(part.size(), 2 * some.size());
      for (size_t row = 0; row < 2; ++row) {
        std::vector<float> expected;
        for (const Token t : some) expected.push_back(full[row * 37 + static_cast<size_t>(t)]);
        kernels::log_softmax({expected.data(), 5}, {expected.data(), 5}, 0, 1, 5);
        expect_close(expected, part.subspan(row * some.size(), some.size()), 1e-6);
      }
    }
    EXPECT_THROW(few.restrict(Tokens{37}), Error);
    few.begin(sources);  // drops the restriction
    EXPECT_EQ(few.step(parents, Tokens{kEnd, kEnd}).size(), 2u * 37u);
  }
}

TEST_F(TranslatorTest, LowPrecisionIsClose) {
  const auto model = make(tiny_translator());
  const std::vector<Tokens> sources = {draw(9), draw(3)}, targets = {draw(6), draw(20)};
  TranslatorDecoder exact(model, pool_), cached(model, pool_, CacheType::bf16);
  const auto expected = score_pairs(exact, sources, targets), low = score_pairs(cached, sources, targets);
  for (size_t i = 0; i < 2; ++i) expect_close(expected[i], low[i], 0.02);
  for (const kernels::WeightType type : {kernels::WeightType::bf16, kernels::WeightType::i8}) {
    const auto path = folder_ / quantized_name(type);
    quantize(path_, path, type);
    EXPECT_LT(std::filesystem::file_size(path), std::filesystem::file_size(path_));
    TranslatorDecoder decoder(Translator::open(path), pool_);
    const auto scores = score_pairs(decoder, sources, targets);
    for (size_t i = 0; i < 2; ++i) expect_close(expected[i], scores[i], 0.05);
  }
}

TEST_F(TranslatorTest, RejectsWhatDoesNotFit) {
  TranslatorOptions options = tiny_translator();
  options.block.position = PositionKind::simple;
  options.block.max_positions = 10;
  options.share_embeddings = false;
  options.source_vocabulary = 20;
  const auto model = make(options);
  TranslatorDecoder decoder(model, pool_);
  const auto begin = [&](Tokens source) { decoder.begin({{std::move(source)}}); };
  EXPECT_THROW(begin({}), Error);
  EXPECT_THROW(begin({20, kEnd}), Error);
  EXPECT_THROW(begin({-1, kEnd}), Error);
  EXPECT_THROW(begin(draw(10, 20)), Error);
  begin(draw(9, 20));
  EXPECT_EQ(decoder.max_positions(), 10);
  const auto step = [&](int64_t parent, Token token) {
    decoder.step(std::vector<int64_t>{parent}, Tokens{token});
  };
  EXPECT_THROW(step(1, kEnd), Error);
  begin(draw(9, 20));
  EXPECT_THROW(step(-1, kEnd), Error);
  begin(draw(9, 20));
  EXPECT_THROW(step(0, 37), Error);
  begin(draw(9, 20));
  for (int i = 0; i < 10; ++i) step(0, i == 0 ? Token{kEnd} : Token{36});
  EXPECT_THROW(step(0, 36), Error);
  begin(draw(2, 20));
  step(0, kEnd);
  EXPECT_THROW(step(1, 5), Error);
  EXPECT_THROW(decoder.alignment(7), Error);
  EXPECT_THROW(decoder.step(std::vector<int64_t>{0, 0}, Tokens{5}), Error);
  EXPECT_THROW(TranslatorDecoder(model, nullptr), Error);
}

TEST_F(TranslatorTest, TheLongestTargetFits) {
  TranslatorOptions options = tiny_translator();
  options.block.position = PositionKind::simple;
  options.block.max_positions = 9;
  TranslatorDecoder decoder(make(options), pool_);
  const SearchSentence one{draw(8), {}, 0};
  SearchOptions search;
  search.min_length = 100;
  EXPECT_EQ(beam_search(decoder, {&one, 1}, search)[0][0].tokens.size(), 9u);
}

TEST_F(TranslatorTest, RejectsHostileFiles) {
  TranslatorOptions small = tiny_translator();
  small.encoder_layers = small.decoder_layers = 1;
  ModelOptions all;
  all.model = small;
  const mega::testing::RandomWeights weights(all, 1);
  const auto open = [&](const std::function<void(std::vector<TensorView>&)>& change,
                        const ModelOptions& options) {
    std::vector<TensorView> tensors = weights.tensors();
    change(tensors);
    write_model_file(path_, options, tensors);
    return Translator::open(path_);
  };
  EXPECT_NO_THROW(open([](auto&) {}, all));
  for (size_t i = 0; i < weights.tensors().size(); ++i) {
    const auto missing = [&](auto& tensors) { tensors.erase(tensors.begin() + static_cast<ptrdiff_t>(i)); };
    const auto changed = [&](auto& tensors) {
      if (i % 2 == 0) {
        tensors[i].dtype = DType::I32;
      } else {
        tensors[i].shape = {1};
        tensors[i].data = tensors[i].data.first(4);
      }
    };
    EXPECT_THROW(open(missing, all), Error) << weights.tensors()[i].name;
    EXPECT_THROW(open(changed, all), Error) << weights.tensors()[i].name;
  }
  EXPECT_THROW(open([](auto& tensors) { tensors.push_back({"more", DType::F32, {0}, {}}); }, all), Error);
  ModelOptions other;
  other.model = mega::testing::tiny_language_model();
  write_random_model(path_, other);
  EXPECT_THROW(Translator::open(path_), Error);
  small.vocabulary = 1 << 30;
  other.model = small;
  EXPECT_THROW(open([](auto&) {}, other), Error);
}

}  // namespace
}  // namespace mega::infer
