// A checkpoint as a model file of ours, and what the released program computed with it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "mega/base/files/safetensors.h"
#include "mega/config/import/import_checkpoint.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"
#include "tests/checkpoints/folders.h"

namespace mega::testing {

// The folders whose models can be imported. (Archives hold the same models again.)
inline std::vector<CheckpointCase> importable_cases() {
  std::vector<CheckpointCase> cases;
  for (CheckpointCase& one : checkpoint_cases())
    if (!one.description.contains("members")) cases.push_back(std::move(one));
  return cases;
}

// What is imported: a file, or the folder of one of Hugging Face's models.
inline std::filesystem::path checkpoint_of(const CheckpointCase& one) {
  return one.description.at("family") == "huggingface" ? one.folder : one.folder / "model.pt";
}

// The matrix of a safetensors file, row by row.
template <class Value>
struct Rows {
  std::vector<Value> values;
  std::vector<int64_t> shape;

  Rows(const Safetensors& file, const std::string& name) : shape(file.at(name).shape) {
    const TensorView& tensor = file.at(name);
    require(element_size(tensor.dtype) == sizeof(Value), name, ": is of type ", to_string(tensor.dtype));
    values.resize(static_cast<size_t>(tensor.elements()));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  }

  int64_t count() const { return shape.at(0); }
  // All that stands at the first index `i`.
  std::span<const Value> operator[](int64_t i) const {
    const size_t size = values.size() / static_cast<size_t>(shape.at(0));
    return std::span(values).subspan(static_cast<size_t>(i) * size, size);
  }
};

// Without padding, on either side.
inline std::vector<Token> without_padding(std::span<const int64_t> row) {
  std::vector<Token> tokens;
  for (const int64_t token : row)
    if (token != kPad) tokens.push_back(static_cast<Token>(token));
  return tokens;
}

// Differences of up to 1e-5 of the largest value, or of 1.
inline void expect_close(std::span<const float> expected, std::span<const float> actual,
                         const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  double largest = 1.0, worst = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = static_cast<double>(expected[i]), b = static_cast<double>(actual[i]);
    largest = std::max(largest, std::abs(a));
    if (!(std::abs(a - b) <= worst)) worst = std::abs(a - b);  // also NaN
  }
  EXPECT_LE(worst, 1e-5 * largest) << what;
}

// log softmax of each row of (rows, types).
inline std::vector<float> log_softmax(std::span<const float> logits, size_t types) {
  std::vector<float> result;
  for (size_t begin = 0; begin < logits.size(); begin += types) {
    double sum = 0.0;
    for (const float logit : logits.subspan(begin, types)) sum += std::exp(static_cast<double>(logit));
    for (const float logit : logits.subspan(begin, types))
      result.push_back(static_cast<float>(static_cast<double>(logit) - std::log(sum)));
  }
  return result;
}

class ImportedCheckpoint : public ::testing::TestWithParam<CheckpointCase> {
 protected:
  ImportedCheckpoint()
      : expected_(Safetensors::open(GetParam().folder / "expected.safetensors")),
        model_(import_checkpoint({checkpoint_of(GetParam()), "", {}})) {
    model_.write(path_);
  }

  const nlohmann::json& description() const { return GetParam().description; }
  ModelTask task() const { return model_.options.kind().task(); }

  template <class Value>
  Rows<Value> expected(const std::string& name) const {
    return {expected_, name};
  }
  // The tokens of a row of in.input_ids without padding, which stands behind them.
  std::vector<Token> unmasked(int64_t i) const {
    const auto tokens = expected<int64_t>("in.input_ids"), mask = expected<int64_t>("in.attention_mask");
    std::vector<Token> row;
    for (size_t k = 0; k < tokens[i].size(); ++k)
      if (mask[i][k] != 0) row.push_back(static_cast<Token>(tokens[i][k]));
    return row;
  }
  bool is_huggingface() const { return is_expected("in.input_ids"); }
  bool is_expected(const std::string& name) const { return expected_.find(name) != nullptr; }

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
  Safetensors expected_;
  ImportedModel model_;
};

}  // namespace mega::testing
