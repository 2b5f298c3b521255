// Checkpoints of the released programs as models of ours: options, dictionaries, classes, and the file.
// (Outputs: tests/infer/models/checkpoints_test.cc and tests/engine/checkpoints_test.cc.)
#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "mega/base/options/options_io.h"
#include "mega/config/files/model_file.h"
#include "mega/config/import/import_checkpoint.h"
#include "tests/base/helpers.h"
#include "tests/checkpoints/folders.h"

namespace mega::testing {
namespace {

using Json = nlohmann::json;

// Every field that is expected, with its value.
void expect_fields(const Json& expected, const Json& actual, const std::string& where) {
  for (const auto& [key, value] : expected.items()) {
    const std::string name = where + "." + key;
    ASSERT_TRUE(actual.contains(key)) << name;
    if (value.is_object())
      expect_fields(value, actual.at(key), name);
    else
      EXPECT_EQ(actual.at(key), value) << name;
  }
}

std::vector<Token> row(const Safetensors& file, const std::string& name, int64_t index, int64_t length) {
  const TensorView& tensor = file.at(name);
  const auto* numbers = reinterpret_cast<const int64_t*>(tensor.data.data()) + index * tensor.shape.at(1);
  return {numbers, numbers + length};
}

// Texts of classifiers become the tokens that the released program made of them.
void check_documents(const CheckpointCase& one, const ImportedModel& model, const Safetensors& expected,
                     const char* texts, const std::string& suffix) {
  if (!one.description.contains(texts) || one.description.at(texts).is_null()) return;
  const SequenceOptions& options = *sequence_options(model.options);
  const auto tokenizer = make_tokenizer(model.signature, options.vocabulary - reserved_tokens(options));
  const TensorView& lengths = expected.at("in.lengths" + suffix);
  int64_t index = 0;
  for (const std::string text : one.description.at(texts)) {
    const int64_t length = reinterpret_cast<const int64_t*>(lengths.data.data())[index];
    std::vector<Token> tokens = tokenizer->encode_document(text, 0);
    tokens.resize(static_cast<size_t>(length));  // the released program cuts off </s> of one that is too long
    EXPECT_EQ(tokens, row(expected, "in.tokens" + suffix, index, length)) << text;
    ++index;
  }
}

void check_model(const CheckpointCase& one, const ImportedModel& model) {
  Json options = one.description.at("expected_options");
  if (model.options.kind().task() ==
      ModelTask::image) {  // fields that our image classifiers have no choice of
    options.erase("pooling");
    if (options.at("representation").is_null()) options.at("representation") = 0;
  }
  expect_fields(options, options_to_json(model.options), "model");
  EXPECT_EQ(model.record.architecture, one.description.at("arch").get<std::string>());
  if (one.description.contains("task")) {
    EXPECT_EQ(model.record.task, one.description.at("task").get<std::string>());
  }
  EXPECT_TRUE(model.record.updates.has_value());
  const bool named = one.description.contains("classes_in_output_order");
  if (named) {
    EXPECT_EQ(model.signature.classes,
              one.description.at("classes_in_output_order").get<std::vector<std::string>>());
  }
  if (one.description.contains("expected_input"))
    expect_fields(one.description.at("expected_input"), options_to_json(model.signature.input), "input");

  // The file is one that everything else accepts, without a tensor twice.
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "model.safetensors";
  model.write(path);
  const ModelFile file = ModelFile::open(path);
  check_tensors(file.options, file.tensors);
  const Signature signature = read_signature(file.tensors, "file");
  if (const SequenceOptions* sequence = sequence_options(file.options)) {
    EXPECT_NO_THROW(check_signature(signature, *sequence));
    const Safetensors expected = Safetensors::open(one.folder / "expected.safetensors");
    check_documents(one, model, expected, "texts", "");
    check_documents(one, model, expected, "texts1", "1");
  } else if (const TokenOptions* tokens = token_options(file.options)) {
    EXPECT_EQ(make_tokenizer(signature, tokens->vocabulary)->size(), tokens->vocabulary);
  } else if (const ImageOptions* image = image_options(file.options)) {
    EXPECT_NO_THROW(check_signature(signature, *image));
  } else {
    const int64_t types = translation_options(file.options)->vocabulary;
    const TranslationTokenizers tokenizers = make_tokenizers(signature, types, types);
    EXPECT_EQ(tokenizers.source->size(), types);
    EXPECT_EQ(tokenizers.target, tokenizers.source);
  }
}

// Both files of the folder are the same model, whose options are those of config.json.
void check_huggingface(const CheckpointCase& one) {
  const ScratchFolder folder;
  std::vector<std::string> bytes;
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    if (!std::filesystem::exists(one.folder / name)) continue;
    const ImportedModel model = import_checkpoint({one.folder / name, "", {}});
    EXPECT_EQ(model.record.architecture, one.description.at("class").get<std::string>());
    model.write(folder / "model.safetensors");
    bytes.push_back(read_file(folder / "model.safetensors"));
    const Json config = Json::parse(read_file(one.folder / "config.json"));
    const Json block = options_to_json(model.options).at("block");
    EXPECT_EQ(block.at("width"), config.at("hidden_size"));
    EXPECT_EQ(block.at("prenorm"), config.at("normalize_before_mega"));
    EXPECT_EQ(block.at("ema").at("bidirectional"), config.at("bidirectional"));
    if (const SequenceOptions* sequence = sequence_options(model.options)) {
      EXPECT_EQ(sequence->classes, config.at("num_labels").get<int64_t>());
      EXPECT_EQ(model.signature.classes.front(), config.at("id2label").at("0").get<std::string>());
    }
  }
  ASSERT_FALSE(bytes.empty());
  EXPECT_TRUE(bytes.front() == bytes.back()) << "other bits in the other file";
}

// The one archive of a folder.
std::filesystem::path archive_in(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".zip") return entry.path();
  fail(folder.string(), ": has no archive");
}

class Imported : public ::testing::TestWithParam<CheckpointCase> {};

TEST_P(Imported, IsTheModelThatWasTrained) {
  const CheckpointCase& one = GetParam();
  const Json& description = one.description;
  if (description.contains("members")) {
    for (const auto& [member, model] : description.at("members").items()) {
      const CheckpointCase inner = checkpoint_case(model);
      const std::vector<std::filesystem::path> dictionaries =
          std::filesystem::exists(inner.folder / "dict.txt")
              ? std::vector<std::filesystem::path>{inner.folder / "dict.txt", inner.folder / "dict.label.txt"}
              : std::vector<std::filesystem::path>{};
      check_model(inner, import_checkpoint({archive_in(one.folder), member, {dictionaries, {}}}));
    }
    return;
  }
  if (description.at("family") == "huggingface") return check_huggingface(one);
  check_model(one, import_checkpoint({one.folder / "model.pt", "", {}}));
}

INSTANTIATE_TEST_SUITE_P(Folders, Imported, ::testing::ValuesIn(checkpoint_cases()),
                         [](const auto& one) { return test_name(one.param.name()); });

}  // namespace
}  // namespace mega::testing
