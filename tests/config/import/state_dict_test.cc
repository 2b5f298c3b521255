#include "mega/config/import/state_dict.h"

#include <gtest/gtest.h>

#include "mega/base/pytorch/torch_file.h"
#include "mega/config/import/saved_arguments.h"
#include "tests/base/helpers.h"
#include "tests/base/pytorch/pickle_bytes.h"

namespace mega::testing {
namespace {

// A checkpoint with two storages of four floats: "0" is 1, 2, 3, 4 and "1" is 1, 2, 3, 5.
class File {
 public:
  explicit File(const std::string& operations) {
    const std::vector<float> first{1, 2, 3, 4}, second{1, 2, 3, 5};
    ZipBytes zip;
    zip.add("archive/data.pkl", kProto + operations + ".");
    zip.add("archive/data/0", {reinterpret_cast<const char*>(first.data()), 16});
    zip.add("archive/data/1", {reinterpret_cast<const char*>(second.data()), 16});
    bytes_ = zip.finish();
    file_ = TorchFile::parse(bytes_of(bytes_), "file");
  }

  const PickleValue& root() const { return file_.root(); }

 private:
  std::string bytes_;
  TorchFile file_;
};

std::string floats(const std::string& key) { return storage_op("FloatStorage", key, 4); }

std::string vector_op(const std::string& key) { return tensor_op(floats(key), 0, 4, 1); }

std::string dict_op(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string operations = "}(";
  for (const auto& [name, value] : entries) operations += text_op(name) + value;
  return operations + "u";
}

// Two embeddings of two numbers.
ModelOptions tiny_language_model() {
  LanguageModelOptions options;
  options.vocabulary = 2;
  options.layers = 1;
  options.block.width = 2;
  return {options};
}

std::string matrix_op(const std::string& key) {
  return global_op("torch._utils", "_rebuild_tensor_v2") + "(" + floats(key) + int_op(0) + int_op(2) +
         int_op(2) + "\x86" + int_op(2) + int_op(1) + "\x86\x89" + global_op("collections", "OrderedDict") +
         ")RtR";
}

TEST(StateDict, TakesOffTheWrapperOfParallelTraining) {
  const File file(dict_op({{"module.a.0.w", vector_op("0")}, {"module.a.1.w", vector_op("1")}}));
  const StateDict state(file.root(), "file");
  EXPECT_TRUE(state.was_wrapped());
  EXPECT_EQ(state.count("a.", ".w"), 2);
  EXPECT_EQ(state.size("a.1.w", 0), 4);
  EXPECT_TRUE(state.has_prefix("a.1"));
  EXPECT_FALSE(state.has_prefix("b"));
  EXPECT_PRED2(contains, error_of([&] { state.size("a.1.w", 1); }), "shape [4], expected 2 dimensions");
  EXPECT_PRED2(contains, error_of([&] { state.size("a.2.w", 0); }), "no tensor \"a.2.w\"");
}

TEST(StateDict, HoldsTensorsAlone) {
  const File list("]"), number(dict_op({{"a", int_op(3)}}));
  EXPECT_PRED2(contains, error_of([&] { StateDict(list.root(), "file"); }), "expected a dict, got a list");
  EXPECT_PRED2(contains, error_of([&] { StateDict(number.root(), "file"); }),
               "\"a\": expected a tensor, got an integer");
}

TEST(StateDict, RefusesCopiesOfATensorThatDiffer) {
  const char *embedding = "decoder.embed_tokens.weight", *output = "decoder.output_projection.weight";
  const auto error = [&](const std::string& second) {
    const File file(dict_op({{embedding, matrix_op("0")}, {output, second}}));
    return error_of([&] { convert_tensors(StateDict(file.root(), "file"), tiny_language_model()); });
  };
  EXPECT_PRED2(contains, error(matrix_op("1")), "differ, but are one tensor");
  EXPECT_FALSE(contains(error(matrix_op("0")), "differ"));
}

TEST(StateDict, SaysAllThatDoesNotFit) {
  const File file(
      dict_op({{"decoder.embed_tokens.weight", vector_op("0")}, {"decoder.version", vector_op("1")}}));
  const std::string error =
      error_of([&] { convert_tensors(StateDict(file.root(), "file"), tiny_language_model()); });
  EXPECT_PRED2(contains, error, "\"decoder.embed_tokens.weight\" has the shape [4], expected [2, 2]");
  EXPECT_PRED2(contains, error, "is missing");
  EXPECT_PRED2(contains, error, " more");
}

TEST(SavedArguments, AreData) {
  const File file(dict_op({{"cutoffs", text_op("20000, 60000")},
                           {"list", "](" + int_op(1) + int_op(2) + "e"},
                           {"code", text_op("__import__('os')")},
                           {"none", "N"},
                           {"flag", "\x88"},
                           {"layers", int_op(12)}}));
  const SavedArguments arguments(file.root(), "file");
  EXPECT_EQ(arguments.integers("cutoffs"), (std::vector<int64_t>{20000, 60000}));
  EXPECT_EQ(arguments.integers("list"), (std::vector<int64_t>{1, 2}));
  EXPECT_PRED2(contains, error_of([&] { arguments.integers("code"); }),
               "file: args.code: expected integers with commas between them");
  EXPECT_TRUE(arguments.has("none"));
  EXPECT_FALSE(arguments.text("none").has_value());
  EXPECT_FALSE(arguments.text("missing").has_value());
  EXPECT_EQ(arguments.flag("flag"), true);
  EXPECT_EQ(arguments.number("layers"), 12.0);
  EXPECT_PRED2(contains, error_of([&] { arguments.text("layers"); }),
               "args.layers: expected text, got an integer");
  EXPECT_PRED2(contains, error_of([&] { arguments.flag("layers"); }), "expected True or False");
}

}  // namespace
}  // namespace mega::testing
