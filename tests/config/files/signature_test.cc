#include "mega/config/files/signature.h"

#include <gtest/gtest.h>

#include <limits>

#include "mega/base/options/options_io.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;
using Floats = std::vector<float>;

constexpr const char* kNoNumbers = R"({"kind": "text"})";

class SignatureTest : public ::testing::Test {
 protected:
  Signature written(const Signature& signature) const {
    write_safetensors(folder_ / "file", signature_tensors(signature), signature_metadata(signature));
    return read();
  }

  Signature read() const { return read_signature(Safetensors::open(folder_ / "file"), "file"); }

  // The error of a file with this metadata, where "" leaves a key out.
  std::string error_with(const std::string& input, const std::string& data,
                         const std::string& classes) const {
    Metadata metadata;
    if (!input.empty()) metadata["input"] = input;
    if (!data.empty()) metadata["data"] = data;
    if (!classes.empty()) metadata["classes"] = classes;
    write_safetensors(folder_ / "file", {}, metadata);
    return error_of([&] { read(); });
  }

  std::string error_with(const Signature& signature) const {
    return error_of([&] { written(signature); });
  }

  const ScratchFolder folder_;
};

Signature series(int64_t channels, Standardize standardize, const Floats& mean) {
  Signature signature;
  signature.input.input = SeriesInput{channels, 0, standardize};
  signature.mean = mean;
  signature.deviation = Floats(mean.size(), 2.0F);
  return signature;
}

TEST_F(SignatureTest, OutputsOfARegressionGetTheUnitsOfItsTargets) {
  Signature signature;
  signature.target_mean = {10, -1};
  signature.target_deviation = {2, 0.5};
  Floats outputs = {0, 4};
  to_target_units(outputs, signature);
  EXPECT_EQ(outputs, (Floats{10, 1}));
}

TEST_F(SignatureTest, RoundTripsThroughAFile) {
  Signature signature = series(2, Standardize::position, {1, 2, 3, 4});
  signature.data.path = "some/folder";
  signature.data.classes = {"b", "a"};
  signature.data.valid_share = 0.25;
  signature.classes = {"b", "a", "\xC3\xA9 \"quoted\"\n", ""};
  const Signature again = written(signature);
  EXPECT_EQ(options_to_json(again.input), options_to_json(signature.input));
  EXPECT_EQ(options_to_json(again.data), options_to_json(signature.data));
  EXPECT_EQ(again.classes, signature.classes);
  EXPECT_EQ(again.mean, signature.mean);
  EXPECT_EQ(again.deviation, signature.deviation);
  EXPECT_TRUE(again.target_mean.empty() && again.target_deviation.empty());
}

TEST_F(SignatureTest, ATranslatorHasOneVocabularyOrTwo) {
  TranslationInput input;
  input.units = TextUnits::words;
  input.source_language = "en";
  input.target_language = "de";
  Signature signature;
  signature.input.input = input;
  signature.vocabulary = "house\nhaus\n";
  const TranslationTokenizers joint = make_tokenizers(written(signature), 6, 6);
  EXPECT_EQ(joint.source, joint.target);
  EXPECT_EQ(joint.source->size(), 6);
  EXPECT_PRED2(contains, error_of([&] { make_tokenizers(signature, 6, 5); }), "6 token types, the model 5");
  EXPECT_PRED2(contains, error_of([&] { make_tokenizers(signature, 5, 6); }), "6 token types, the model 5");

  signature.target_vocabulary = "haus\n";
  EXPECT_PRED2(contains, error_of([&] { make_tokenizers(signature, 6, 6); }), "input.joint");
  std::get<TranslationInput>(signature.input.input).joint = false;
  const Signature again = written(signature);
  EXPECT_EQ(again.target_vocabulary, "haus\n");
  EXPECT_EQ(options_to_json(again.input), options_to_json(signature.input));
  const TranslationTokenizers separate = make_tokenizers(again, 6, 5);
  EXPECT_EQ(separate.source->size(), 6);
  EXPECT_EQ(separate.target->size(), 5);
  EXPECT_PRED2(contains, error_of([&] { make_tokenizers(again, 6, 4); }),
               "the target_vocabulary has 5 token types, the model 4");
  for (const TensorView& tensor : signature_tensors(again)) EXPECT_TRUE(is_signature_tensor(tensor.name));

  EXPECT_PRED2(contains, error_of([&] { make_tokenizers(Signature(), 6, 6); }), "input.kind = translation");
}

TEST_F(SignatureTest, RoundTripsARegression) {
  Signature signature;
  signature.target_mean = {0.5F, -1};
  signature.target_deviation = {1, 1e-3F};
  const Signature again = written(signature);
  EXPECT_EQ(again.target_mean, signature.target_mean);
  EXPECT_EQ(again.target_deviation, signature.target_deviation);
  EXPECT_TRUE(again.classes.empty());
}

TEST_F(SignatureTest, RoundTripsAVocabulary) {
  Signature signature;
  TextInput input(TextUnits::words, 512);
  input.vocabulary = 30;
  input.min_count = 2;
  input.model = "a path";
  signature.input.input = input;
  signature.vocabulary = "a\nb\n";
  const Signature again = written(signature);
  EXPECT_EQ(again.vocabulary, signature.vocabulary);
  EXPECT_EQ(options_to_json(again.input), options_to_json(signature.input));
  EXPECT_EQ(options_to_json(again.input).dump(),
            R"({"kind":"text","units":"words","vocabulary":30,"min_count":2,"model":"a path","merges":8000,)"
            R"("dictionary":"","max_length":512})");
  EXPECT_EQ(make_tokenizer(again, 6)->size(), 6);
  EXPECT_PRED2(contains, error_of([&] { make_tokenizer(again, 5); }),
               "the vocabulary has 6 token types, the model 5");
}

// Files of versions that had fewer options.
TEST_F(SignatureTest, OlderFilesKeepTheirMeaning) {
  const auto read_input = [&](const char* input) {
    write_safetensors(folder_ / "file", {}, {{"input", input}, {"data", "{}"}, {"classes", "[]"}});
    return read();
  };
  for (const TextUnits units : {TextUnits::bytes, TextUnits::listops}) {
    const std::string json =
        R"({"kind": "text", "units": ")" + std::string(to_string(units)) + R"(", "max_length": 7})";
    const Signature signature = read_input(json.c_str());
    const auto& text = std::get<TextInput>(signature.input.input);
    EXPECT_EQ(text.units, units);
    EXPECT_EQ(text.max_length, 7);
    EXPECT_EQ(text.vocabulary, 0);
    EXPECT_EQ(text.min_count, 1);
    EXPECT_EQ(text.model, "");
    EXPECT_EQ(make_tokenizer(signature, 260)->size(), units == TextUnits::bytes ? 260 : 19);
  }
  const Signature language = read_input(
      R"({"kind": "language", "units": "sentencepiece", "vocabulary": 500, "min_count": 1, "model": ""})");
  EXPECT_EQ(std::get<LanguageInput>(language.input.input).units, TextUnits::sentencepiece);
  EXPECT_EQ(std::get<LanguageInput>(language.input.input).vocabulary, 500);
}

TEST_F(SignatureTest, ModelsThatReadNoTextHaveNoTokenizer) {
  EXPECT_EQ(make_tokenizer(series(1, Standardize::none, {}), 0), nullptr);
  EXPECT_EQ(embedding_count(260, 1), 264);
  EXPECT_EQ(embedding_count(19, 1), 24);
  EXPECT_EQ(embedding_count(264, 0), 264);
  EXPECT_EQ(embedding_count(264, 1), 272);
}

TEST_F(SignatureTest, APathNeedNotBeUtf8) {
  Signature signature;
  signature.data.path = "caf\xE9";
  EXPECT_EQ(written(signature).data.path, "caf\xEF\xBF\xBD");
}

TEST_F(SignatureTest, OtherFilesHaveNone) {
  write_safetensors(folder_ / "file", {}, {{"format", "1"}});
  EXPECT_PRED2(contains, error_of([&] { read(); }), "file: its metadata has no \"input\"");
  written({});
  EXPECT_PRED2(contains, error_with(kNoNumbers, "", "[]"), "no \"data\"");
  EXPECT_PRED2(contains, error_with(kNoNumbers, "{}", ""), "no \"classes\"");
}

TEST_F(SignatureTest, ClassesAreNames) {
  for (const char* classes : {"[1]", "[null]", "[[\"a\"]]", "[\"a\", {}]"})
    EXPECT_PRED2(contains, error_with(kNoNumbers, "{}", classes), "file: classes: expected names, got");
  for (const char* classes : {"\"a\"", "{\"0\": \"a\"}", "7", "null"})
    EXPECT_PRED2(contains, error_with(kNoNumbers, "{}", classes), "file: classes: expected a list of names");
  EXPECT_PRED2(contains, error_with(kNoNumbers, "{}", "[\"a\", \"a\"]"), "\"a\" is there twice");
  for (const char* classes : {"[", "[\"a\"] x"})
    EXPECT_PRED2(contains, error_with(kNoNumbers, "{}", classes), "file: classes");
}

TEST_F(SignatureTest, TooManyClassesAreRefused) {
  std::string classes = "[0";
  for (int i = 0; i < (1 << 20) + 1; ++i) classes += ",0";
  EXPECT_PRED2(contains, error_with(kNoNumbers, "{}", classes + "]"), "file: classes: ");
  EXPECT_LT(error_with(kNoNumbers, "{}", classes + "]").size(), 1000U);
  // What an error message repeats of the file is short.
  EXPECT_LT(error_with(kNoNumbers, "{}", "[[\"" + std::string(100000, 'x') + "\"]]").size(), 1000U);
}

TEST_F(SignatureTest, InputAndDataAreChecked) {
  EXPECT_PRED2(contains, error_with(R"({"kind": "smell"})", "{}", "[]"), "file: input");
  EXPECT_PRED2(contains, error_with(R"({"kind": "series", "channels": 0})", "{}", "[]"), "channels");
  EXPECT_PRED2(contains, error_with(R"({"kind": "text", "max_length": -1})", "{}", "[]"), "max_length");
  EXPECT_PRED2(contains, error_with(R"({"kind": "image", "deviation": 0})", "{}", "[]"), "deviation");
  EXPECT_PRED2(contains, error_with("[]", "{}", "[]"), "file: input");
  EXPECT_PRED2(contains, error_with(kNoNumbers, R"({"classes": 3})", "[]"), "file: data");
  EXPECT_PRED2(contains, error_with(std::string(100, '[') + std::string(100, ']'), "{}", "[]"),
               "file: input");
}

TEST_F(SignatureTest, StatisticsAreOfOneType) {
  const std::vector<double> doubles = {1};
  std::vector<TensorView> tensors = {{"signature.mean", DType::F64, {1}, std::as_bytes(std::span(doubles))}};
  write_safetensors(folder_ / "file", tensors, signature_metadata(series(1, Standardize::channel, {})));
  EXPECT_PRED2(contains, error_of([&] { read(); }), "file: signature.mean: expected F32, got F64");
}

TEST_F(SignatureTest, EmptyStatisticsAreNone) {
  std::vector<TensorView> tensors = {{"signature.mean", DType::F32, {0}, {}},
                                     {"signature.deviation", DType::F32, {3, 0}, {}}};
  write_safetensors(folder_ / "file", tensors, signature_metadata(series(1, Standardize::channel, {})));
  EXPECT_TRUE(read().mean.empty());
}

TEST_F(SignatureTest, MeanAndDeviationBelongTogether) {
  Signature signature = series(2, Standardize::channel, {1, 2});
  signature.deviation.pop_back();
  EXPECT_PRED2(contains, error_with(signature), "file: mean and deviation differ in size: 2 and 1");
  signature = {};
  signature.target_mean = {1};
  EXPECT_PRED2(contains, error_with(signature), "file: mean and deviation differ in size: 1 and 0");
}

TEST_F(SignatureTest, StatisticsFitTheInput) {
  EXPECT_NO_THROW(written(series(2, Standardize::channel, {1, 2})));
  EXPECT_NO_THROW(written(series(2, Standardize::position, {1, 2, 3, 4})));
  for (const Floats& mean : {Floats{1}, Floats{1, 2, 3}, Floats{1, 2, 3, 4}})
    EXPECT_PRED2(contains, error_with(series(2, Standardize::channel, mean)),
                 "does not fit an input of 2 channel");
  for (const Floats& mean : {Floats{1}, Floats{1, 2, 3}})
    EXPECT_PRED2(contains, error_with(series(2, Standardize::position, mean)), "standardize = position");
  EXPECT_PRED2(contains, error_with(series(1, Standardize::none, {1})), "standardize = none");
  Signature text = series(1, Standardize::channel, {1});
  text.input.input = TextInput{};
  EXPECT_PRED2(contains, error_with(text), "standardize = none");
}

TEST_F(SignatureTest, StatisticsMakeNumbersOfNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {0.0F, -1.0F, kNan, kInf}) {
    Signature signature = series(1, Standardize::channel, {1});
    signature.deviation = {bad};
    EXPECT_PRED2(contains, error_with(signature), "file: a mean of 1 and a deviation of");
    signature = {};
    signature.target_mean = {1};
    signature.target_deviation = {bad};
    EXPECT_PRED2(contains, error_with(signature), "file: a mean of 1 and a deviation of");
  }
  EXPECT_PRED2(contains, error_with(series(1, Standardize::channel, {kNan})), "file: a mean of");
}

TEST_F(SignatureTest, EitherClassesOrNumbersArePredicted) {
  Signature signature;
  signature.classes = {"a"};
  signature.target_mean = signature.target_deviation = {1};
  EXPECT_PRED2(contains, error_with(signature), "has classes, and statistics of numbers");
}

}  // namespace
}  // namespace mega
