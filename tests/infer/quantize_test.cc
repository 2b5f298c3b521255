#include "mega/infer/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "mega/base/files/file.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/session.h"
#include "mega/infer/weight_file.h"
#include "mega/kernels/byte_attention.h"
#include "mega/kernels/instruction_set.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using kernels::WeightType;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

// One of the matrices of the default model.
const std::string kMatrix = "sentence_projection_layer.weight";

// A model file with the given tensors.
class Quantize : public ::testing::Test {
 protected:
  void write(const std::map<std::string, std::pair<std::vector<int64_t>, std::vector<float>>>& tensors,
             const ModelOptions& options = {}, const Metadata& metadata = {}) {
    std::vector<TensorView> views;
    for (const auto& [name, tensor] : tensors)
      views.push_back({name, DType::F32, tensor.first, std::as_bytes(std::span(tensor.second))});
    write_model_file(from_, options, views, metadata);
  }
  Safetensors quantized(WeightType type) {
    quantize(from_, to_, type);
    return Safetensors::open(to_);
  }
  template <class T>
  static std::vector<T> numbers(const TensorView& tensor) {
    std::vector<T> values(tensor.data.size() / sizeof(T));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }
  void expect_pieces_agree();

  ScratchFolder folder_;
  std::filesystem::path from_ = folder_ / "model.safetensors", to_ = folder_ / "small.safetensors";
};

TEST_F(Quantize, EachRowHasItsScale) {
  write({{kMatrix, {{3, 4}, {127, -63.4f, 0.6f, 0.4f, 0, 0, 0, 0, -1, 0.5f, 0.25f, 0.001f}}}});
  const Safetensors file = quantized(WeightType::i8);
  EXPECT_EQ(file.at(kMatrix).dtype, DType::I8);
  EXPECT_EQ(file.at(kMatrix).shape, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(numbers<int8_t>(file.at(kMatrix)),
            (std::vector<int8_t>{127, -63, 1, 0, 0, 0, 0, 0, -127, 64, 32, 0}));
  EXPECT_EQ(file.at(scale_name(kMatrix)).shape, std::vector<int64_t>{3});
  EXPECT_EQ(numbers<float>(file.at(scale_name(kMatrix))), (std::vector<float>{1, 0, 1.0f / 127}));
}

TEST_F(Quantize, WritesAChecksumOfItsOwn) {
  write({{kMatrix, {{1, 2}, {1, 2}}}});
  quantize(from_, to_, WeightType::bf16);
  const ModelFile before = ModelFile::open(from_), after = ModelFile::open(to_);
  EXPECT_TRUE(after.has_checksum());
  EXPECT_NE(before.tensors.metadata().at("checksum"), after.tensors.metadata().at("checksum"));
}

TEST_F(Quantize, HandlesTheSmallestAndLargestNumbers) {
  const float least = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max() / 2;
  write({{kMatrix, {{3, 2}, {least, -least, 100 * least, -50 * least, most, -most}}}});
  const Safetensors file = quantized(WeightType::i8);
  const auto values = numbers<int8_t>(file.at(kMatrix));
  const auto scales = numbers<float>(file.at(scale_name(kMatrix)));
  EXPECT_EQ(scales[0], 0.0f);  // the scale of such a row would not be finite
  EXPECT_EQ(values[0], 0);
  EXPECT_LE(std::abs(values[2]), 127);
  EXPECT_EQ(values[4], 127);
  EXPECT_EQ(values[5], -127);
  EXPECT_TRUE(std::isfinite(scales[2] * 127));
}

TEST_F(Quantize, Bf16RoundsToTheNearestEven) {
  // 1 + 2^-8 lies between 1 and 1 + 2^-7, 1 + 3 * 2^-8 between 1 + 2^-7 and 1 + 2^-6.
  write({{kMatrix, {{1, 4}, {1.00390625f, 1.01171875f, -1.005f, 0.0f}}}});
  const Safetensors file = quantized(WeightType::bf16);
  EXPECT_EQ(file.at(kMatrix).dtype, DType::BF16);
  EXPECT_EQ(numbers<uint16_t>(file.at(kMatrix)), (std::vector<uint16_t>{0x3f80, 0x3f82, 0xbf81, 0}));
  EXPECT_EQ(file.find(scale_name(kMatrix)), nullptr);
}

TEST_F(Quantize, OnlyMatricesChange) {
  ClassifierOptions options;
  options.input = InputKind::samples;
  write({{kMatrix, {{1, 2}, {1, 2}}},
         {"classifier.0.0.bias", {{2}, {1, 2}}},
         {"encoder.encoder.layers.0.mega_layer.norm.norm.weight", {{2}, {1, 2}}},
         {"encoder.encoder.layers.0.mega_layer.gamma", {{1, 2}, {1, 2}}},
         {"encoder.encoder.layers.0.mega_layer.move.gamma", {{1, 2}, {1, 2}}},
         {"something.weight", {{1, 2}, {1, 2}}},
         {"encoder.encoder.embed_tokens.weight", {{1, 2}, {1, 2}}}},
        {options}, {{kDataChecksum, "abc"}, {"classes", "[]"}});
  const Safetensors before = Safetensors::open(from_);
  for (const WeightType type : {WeightType::i8, WeightType::bf16}) {
    const Safetensors after = quantized(type);
    for (const TensorView& tensor : before.tensors()) {
      const bool same = after.at(tensor.name).dtype == DType::F32 &&
                        numbers<float>(after.at(tensor.name)) == numbers<float>(tensor);
      EXPECT_EQ(same, tensor.name != kMatrix) << tensor.name;
    }
    Metadata expected = before.metadata();
    expected[kQuantized] = quantized_name(type);
    expected[kArithmetic] = quantized_name(type);
    expected["checksum"] = after.metadata().at("checksum");  // of other tensors
    EXPECT_EQ(after.metadata(), expected);
  }
  // The token embedding has another name, and its rows are tokens.
  options.input = InputKind::tokens;
  write({{"encoder.encoder.embed_tokens.embed.weight", {{1, 2}, {1, 2}}}}, {options});
  EXPECT_EQ(quantized(WeightType::i8).tensors().front().dtype, DType::F32);  // the scale
  EXPECT_EQ(quantized(WeightType::i8).at("encoder.encoder.embed_tokens.embed.weight").dtype, DType::I8);
}

TEST_F(Quantize, RejectsInvalidRequests) {
  write({{kMatrix, {{1, 2}, {1, 2}}}});
  EXPECT_PRED2(contains, error_of([&] { quantize(from_, to_, WeightType::f32); }), "int8 or bf16");
  EXPECT_PRED2(contains, error_of([&] { quantize(from_, from_, WeightType::i8); }), "another name");
  EXPECT_PRED2(contains, error_of([&] { quantize(folder_ / "none", to_, WeightType::i8); }), "none");
  quantize(from_, to_, WeightType::i8);
  EXPECT_PRED2(contains, error_of([&] { quantize(to_, folder_ / "again", WeightType::bf16); }),
               "is quantised to int8 already");

  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")})
    for (const WeightType type : {WeightType::i8, WeightType::bf16}) {
      write({{kMatrix, {{1, 2}, {1, bad}}}});
      const std::string error = error_of([&] { quantize(from_, folder_ / "bad", type); });
      EXPECT_PRED2(contains, error, "model.safetensors: " + kMatrix);
      EXPECT_PRED2(contains, error, "not finite");
    }
  const std::vector<uint16_t> halves(2);
  write_model_file(from_, {}, {{kMatrix, DType::BF16, {1, 2}, std::as_bytes(std::span(halves))}});
  EXPECT_PRED2(contains, error_of([&] { quantize(from_, folder_ / "bad", WeightType::i8); }), "expected F32");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "bad"));
}

// Logits after each token.
std::vector<float> logits_of(const std::filesystem::path& path, const std::vector<int32_t>& tokens) {
  Session session(LanguageModel::open(path), std::make_shared<ThreadPool>(1));
  std::vector<float> all;
  for (const int32_t token : tokens) {
    session.feed({&token, 1});
    all.insert(all.end(), session.logits().begin(), session.logits().end());
  }
  return all;
}

// Root mean square of the difference, relative to that of the numbers.
double relative_error(const std::vector<float>& expected, const std::vector<float>& actual) {
  double difference = 0.0, size = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(static_cast<double>(actual[i] - expected[i]), 2);
    size += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(difference / size);
}

TEST_F(Quantize, LanguageModelOutputsAreClose) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 40; ++i) tokens.push_back((i * 37 + 11) % 256);
  LanguageModelOptions bands = testing::tiny_language_model();
  bands.cutoffs = {20, 100};
  bands.band_factor = 2;
  for (const LanguageModelOptions& options : {testing::tiny_language_model(), bands}) {
    const Signature signature = testing::byte_signature();
    testing::write_random_model(from_, {options}, 1, &signature);
    const std::vector<float> expected = logits_of(from_, tokens);
    quantize(from_, to_, WeightType::i8);
    EXPECT_LT(relative_error(expected, logits_of(to_, tokens)), 0.05);
    EXPECT_GT(relative_error(expected, logits_of(to_, tokens)), 0.0);
    quantize(from_, to_, WeightType::bf16);
    EXPECT_LT(relative_error(expected, logits_of(to_, tokens)), 0.02);
    EXPECT_EQ(LanguageModel::open(to_)->tokenizer().size(), LanguageModel::open(from_)->tokenizer().size());
  }
}

// The model of a quantised file with another arithmetic, or as files were before they recorded any.
std::filesystem::path with_arithmetic(const std::filesystem::path& path, const std::string& name) {
  const Safetensors file = Safetensors::open(path);
  Metadata metadata = file.metadata();
  metadata.erase(kArithmetic);
  if (!name.empty()) metadata[kArithmetic] = name;
  std::filesystem::path other = path;
  other += "." + name;
  write_with_checksum(other, file.tensors(), metadata);
  return other;
}

std::vector<int32_t> prompt_of(int32_t length) {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < length; ++i) prompt.push_back((i * 37 + 11) % 256);
  return prompt;
}

// In two pieces, of which the second meets cached keys.
std::vector<float> after_prompt(const std::filesystem::path& path, std::span<const int32_t> prompt,
                                size_t first, CacheType cache = CacheType::f32) {
  Session session(LanguageModel::open(path), std::make_shared<ThreadPool>(2), cache);
  session.feed(prompt.first(first));
  session.feed(prompt.subspan(first));
  return std::vector<float>(session.logits().begin(), session.logits().end());
}

// A prompt is computed in bf16 or int8 where the file allows it and the CPU can, else exactly as ever; token
// by token gives the same up to that rounding.
TEST_F(Quantize, ArithmeticIsThatOfTheFile) {
  const LanguageModelOptions options = testing::tiny_language_model();
  const Signature signature = testing::byte_signature();
  testing::write_random_model(from_, {options}, 1, &signature);
  const std::vector<int32_t> prompt = prompt_of(60);
  const auto whole = [&](const std::filesystem::path& path) { return after_prompt(path, prompt, 60); };
  for (const WeightType type : {WeightType::i8, WeightType::bf16}) {
    SCOPED_TRACE(quantized_name(type));
    quantize(from_, to_, type);
    const std::filesystem::path old = with_arithmetic(to_, "");
    const std::vector<float> rounded = whole(to_), exact = whole(old);
    std::vector<float> steps = logits_of(to_, prompt);
    steps.erase(steps.begin(), steps.end() - std::ssize(rounded));
    EXPECT_LT(relative_error(exact, rounded), 0.03);
    EXPECT_LT(relative_error(steps, rounded), 0.03);
    const bool in_bytes = type == WeightType::i8 && kernels::prefers_byte_attention();
    EXPECT_EQ(rounded != exact, kernels::native_bf16() || in_bytes);
    std::vector<float> old_steps = logits_of(old, prompt);
    old_steps.erase(old_steps.begin(), old_steps.end() - std::ssize(exact));
    if (type == WeightType::bf16) {
      EXPECT_LT(relative_error(old_steps, exact), 1e-5);
    }

    // Without such instructions, the same file answers as one without the key.
    kernels::limit_instruction_set(kernels::InstructionSet::avx2);
    EXPECT_EQ(whole(to_), whole(old));
    kernels::limit_instruction_set(kernels::InstructionSet::amx);
  }
}

// int8 files were once written to have their attention in bf16.
TEST_F(Quantize, Int8FilesMayHaveAttentionInBf16) {
  const Signature signature = testing::byte_signature();
  testing::write_random_model(from_, {testing::tiny_language_model()}, 1, &signature);
  quantize(from_, to_, WeightType::i8);
  const std::filesystem::path old = with_arithmetic(to_, "bf16"), exact = with_arithmetic(to_, "");
  const std::vector<int32_t> prompt = prompt_of(60);
  const auto whole = [&](const std::filesystem::path& path) { return after_prompt(path, prompt, 60); };
  EXPECT_EQ(whole(old) != whole(exact), kernels::native_bf16());
  if (kernels::native_bf16()) {
    EXPECT_EQ(whole(old) != whole(to_), kernels::prefers_byte_attention());
  }
}

// A prompt in pieces gives what the whole does: chunks of several pages of cached keys, each attention
// function, and positions that are part of queries and keys but are not scaled with them.
TEST_F(Quantize, PiecesOfAPromptMeetQuantisedKeys) { expect_pieces_agree(); }

// Where the CPU has tiles, int8 files have their attention in int8 without them.
TEST_F(Quantize, PiecesOfAPromptMeetQuantisedKeysWithoutTiles) {
  kernels::limit_instruction_set(kernels::InstructionSet::avx3);
  expect_pieces_agree();
  kernels::limit_instruction_set(kernels::InstructionSet::amx);
}

void Quantize::expect_pieces_agree() {
  const Signature signature = testing::byte_signature();
  const std::vector<int32_t> prompt = prompt_of(430);
  for (const auto function :
       {AttentionFunction::softmax, AttentionFunction::relu2, AttentionFunction::laplace})
    for (const PositionKind position : {PositionKind::simple, PositionKind::tupe})
      for (const WeightType type : {WeightType::i8, WeightType::bf16}) {
        SCOPED_TRACE(quantized_name(type));
        SCOPED_TRACE(to_string(function));
        SCOPED_TRACE(to_string(position));
        LanguageModelOptions options = testing::tiny_language_model();
        options.block.chunk = 400;
        options.block.position = position;
        options.block.attention = function;
        testing::write_random_model(from_, {options}, 1, &signature);
        quantize(from_, to_, type);
        const std::vector<float> whole = after_prompt(to_, prompt, prompt.size());
        EXPECT_LT(relative_error(after_prompt(with_arithmetic(to_, ""), prompt, prompt.size()), whole), 0.03);
        for (const size_t first : {8, 170, 399, 405}) {
          EXPECT_LT(relative_error(whole, after_prompt(to_, prompt, first)), 3e-3);
          EXPECT_LT(relative_error(whole, after_prompt(to_, prompt, first, CacheType::bf16)), 0.03);
        }
      }
}

TEST_F(Quantize, AnUnknownArithmeticIsAnError) {
  const Signature signature = testing::byte_signature();
  testing::write_random_model(from_, {testing::tiny_language_model()}, 1, &signature);
  const Safetensors file = Safetensors::open(from_);
  for (const std::string& value : std::vector<std::string>{"", "f8", "bf16 ", std::string(1 << 16, 'b')}) {
    Metadata metadata = file.metadata();
    metadata[kArithmetic] = value;
    write_with_checksum(to_, file.tensors(), metadata);
    EXPECT_PRED2(contains, error_of([&] { LanguageModel::open(to_); }), "newer version, or damaged");
  }
}

TEST_F(Quantize, ClassifierOutputsAreClose) {
  ClassifierOptions options = testing::tiny_classifier();
  options.input = InputKind::series;
  options.channels = 3;
  testing::write_random_model(from_, {options});
  std::vector<float> values;
  for (int i = 0; i < 3 * 50; ++i) values.push_back(std::sin(static_cast<float>(i)));
  const SequenceView series{{}, values, 50};
  ThreadPool pool(1);
  Workspace work;
  const auto expected = Classifier::open(from_)->outputs({&series, 1}, {pool, work});
  for (const WeightType type : {WeightType::i8, WeightType::bf16}) {
    quantize(from_, to_, type);
    EXPECT_LT(relative_error(expected, Classifier::open(to_)->outputs({&series, 1}, {pool, work})), 0.05);
  }
}

}  // namespace
}  // namespace mega::infer
