// The engine's cross-attention and translator against the released implementation: every cross_* and mt_*
// file, targets at once and token by token. Padded positions are not compared: the engine has none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/config/files/model_file.h"
#include "mega/infer/models/translator.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/kernels/log_softmax.h"
#include "tests/base/helpers.h"

namespace mega::infer {
namespace {

using mega::testing::ScratchFolder;
using Tokens = std::vector<Token>;

constexpr double kTolerance = 1e-5;  // of the tensor's largest value

class TranslatorGolden : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  std::string text(const std::string& key) const { return file_.metadata().at(key); }
  int64_t number(const std::string& key) const { return std::stoll(text(key)); }
  bool flag(const std::string& key) const { return text(key) == "True"; }
  template <class Enum>
  Enum choice(const std::string& key, const std::map<std::string, Enum>& values) const {
    return values.at(text(key));
  }

  template <class Number>
  std::vector<Number> numbers(const std::string& name) const {
    const TensorView& tensor = file_.at(name);
    require(element_size(tensor.dtype) == sizeof(Number), name, " is ", to_string(tensor.dtype));
    std::vector<Number> values(static_cast<size_t>(tensor.elements()));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }

  AttentionFunction function(const std::string& key) const {
    return choice<AttentionFunction>(key, {{"softmax", AttentionFunction::softmax},
                                           {"relu2", AttentionFunction::relu2},
                                           {"laplace", AttentionFunction::laplace}});
  }
  PositionKind position() const {
    return choice<PositionKind>("rel_pos_bias",
                                {{"simple", PositionKind::simple}, {"rotary", PositionKind::rotary}});
  }
  NormKind norm(const std::string& key) const {
    return choice<NormKind>(
        key, {{"layernorm", NormKind::layer}, {"scalenorm", NormKind::scale}, {"rmsnorm", NormKind::rms}});
  }

  // Compares a row of an output, whose largest value is `largest`.
  static void expect_row(const float* expected, const float* actual, int64_t count, double largest,
                         const std::string& what) {
    for (int64_t c = 0; c < count; ++c)
      ASSERT_LE(std::abs(static_cast<double>(expected[c]) - static_cast<double>(actual[c])),
                kTolerance * largest)
          << what << ", column " << c;
  }
  static double largest(const std::vector<float>& values) {
    double most = 0.0;
    for (const float x : values) most = std::max(most, std::abs(static_cast<double>(x)));
    return most;
  }

  void cross_attention();
  void translator();
  TranslatorOptions translator_options() const;

  Safetensors file_ = Safetensors::open(GetParam());
  ThreadPool pool_{2};
  Workspace work_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TranslatorGolden);

void TranslatorGolden::cross_attention() {
  ASSERT_EQ(text("activation"), "silu");
  BlockOptions options;
  options.width = number("embed_dim");
  options.shared = number("zdim");
  options.attention = function("attention_activation");
  options.position = position();
  options.max_positions = number("max_positions");
  options.norm = norm("norm_type");
  options.prenorm = flag("prenorm");
  options.affine = flag("norm_affine");
  WeightFile weights(file_, "golden file");
  const CrossAttention layer(weights, "param", options);

  // (time, batch, channel)
  const auto query = numbers<float>("in.query"), key = numbers<float>("in.key"), y = numbers<float>("out.y");
  const std::vector<int64_t> shape = file_.at("in.query").shape;
  const int64_t length = shape[0], batch = shape[1], d = shape[2], keys = file_.at("in.key").shape[0];
  std::vector<uint8_t> padding(static_cast<size_t>(batch * keys));
  if (file_.find("in.key_padding_mask") != nullptr) padding = numbers<uint8_t>("in.key_padding_mask");
  const infer::Run run{pool_, work_};
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<float> source, target;
    int64_t known = 0;
    for (int64_t j = 0; j < keys; ++j) {
      if (padding[static_cast<size_t>(b * keys + j)] != 0) continue;
      ASSERT_EQ(known++, j) << "padding on the left";
      source.insert(source.end(), key.begin() + (j * batch + b) * d, key.begin() + (j * batch + b + 1) * d);
    }
    for (int64_t i = 0; i < length; ++i)
      target.insert(target.end(), query.begin() + (i * batch + b) * d,
                    query.begin() + (i * batch + b + 1) * d);
    const std::vector<SourceRange> ranges = {{0, known}};
    const SourceKeys read = layer.read({source.data(), d}, ranges, run);
    std::vector<float> whole = target, steps = target;
    const Segment all{nullptr, 0, length, 0};
    layer.forward({whole.data(), d}, length, {&all, 1}, ranges, read, nullptr, run);
    State state;
    for (; state.position < length; ++state.position) {
      const Segment one{&state, 0, 1, 0};
      layer.forward({steps.data() + state.position * d, d}, 1, {&one, 1}, ranges, read, nullptr, run);
    }
    for (int64_t i = 0; i < length; ++i) {
      const float* expected = y.data() + (i * batch + b) * d;
      expect_row(expected, whole.data() + i * d, d, largest(y), "at once, " + std::to_string(i));
      expect_row(expected, steps.data() + i * d, d, largest(y), "in steps, " + std::to_string(i));
    }
  }
}

TranslatorOptions TranslatorGolden::translator_options() const {
  TranslatorOptions options;
  options.vocabulary = number("vocab_size");
  options.encoder_layers = number("encoder_layers");
  options.decoder_layers = number("decoder_layers");
  options.share_embeddings = flag("share_all_embeddings");
  options.tie_output = flag("share_decoder_input_output_embed");
  options.scale_embedding = !flag("no_scale_embedding");
  options.normalize_embedding = flag("normalize_embedding");
  BlockOptions& block = options.block;
  block.width = number("encoder_embed_dim");
  block.values = number("encoder_hidden_dim");
  block.hidden = number("encoder_ffn_embed_dim");
  block.shared = number("encoder_z_dim");
  block.ema.dimension = number("encoder_n_dim");
  block.ema.truncation = number("truncation_length");
  block.attention = function("attention_activation_fn");
  block.position = position();
  block.max_positions = number("max_target_positions");
  block.chunk = number("encoder_chunk_size");
  block.norm = norm("normalization_type");
  block.prenorm = flag("normalize_before");
  return options;
}

void TranslatorGolden::translator() {
  ASSERT_EQ(text("activation_fn"), "silu");
  ModelOptions options;
  options.model = translator_options();
  std::vector<TensorView> tensors;
  for (const TensorInfo& info : options.kind().tensors()) {
    if (!info.tied_to.empty()) continue;
    tensors.push_back(file_.at("param." + info.name));
    tensors.back().name = info.name;
  }
  const ScratchFolder folder;
  write_model_file(folder / "model.safetensors", options, tensors);
  const auto model = Translator::open(folder / "model.safetensors");

  // Rows of (batch, length), right-padded.
  const auto rows_of = [&](const std::string& name) {
    const auto all = numbers<int64_t>(name);
    const int64_t length = file_.at(name).shape[1];
    std::vector<Tokens> rows;
    for (size_t i = 0; i < all.size(); ++i) {
      if (static_cast<int64_t>(i) % length == 0) rows.emplace_back();
      if (all[i] != kPad) rows.back().push_back(static_cast<Token>(all[i]));
    }
    return rows;
  };
  const std::vector<Tokens> sources = rows_of("in.src_tokens"), targets = rows_of("in.prev_output_tokens");
  const auto y = numbers<float>("out.y");
  const int64_t length = file_.at("out.y").shape[1], vocabulary = number("vocab_size");
  const auto expected = [&](size_t b, size_t t) {
    return y.data() + (static_cast<int64_t>(b) * length + static_cast<int64_t>(t)) * vocabulary;
  };

  // All targets at once.
  const infer::Run run{pool_, work_};
  const Sources encoded = model->encode(sources, run);
  Tokens tokens;
  std::vector<Segment> segments;
  for (size_t b = 0; b < targets.size(); ++b) {
    segments.push_back({nullptr, std::ssize(tokens), std::ssize(targets[b]), b});
    tokens.insert(tokens.end(), targets[b].begin(), targets[b].end());
  }
  const kernels::Rows features = model->read(tokens, segments, encoded, run);
  std::vector<float> logits(tokens.size() * static_cast<size_t>(vocabulary));
  multiply(model->output(), {features.data, features.stride}, {logits.data(), vocabulary}, std::ssize(tokens),
           run);
  for (size_t b = 0; b < targets.size(); ++b)
    for (size_t t = 0; t < targets[b].size(); ++t)
      expect_row(expected(b, t), logits.data() + (segments[b].begin + static_cast<int64_t>(t)) * vocabulary,
                 vocabulary, largest(y), "at once");

  // Token by token, all sentences side by side as long as they last.
  std::vector<float> attention;
  if (file_.find("aux.cross_attn_last_layer") != nullptr)
    attention = numbers<float>("aux.cross_attn_last_layer");
  const int64_t longest = file_.at("in.src_tokens").shape[1];
  TranslatorDecoder decoder(model, std::make_shared<ThreadPool>(2));
  decoder.begin(sources);
  std::vector<size_t> rows;
  for (size_t b = 0; b < targets.size(); ++b) rows.push_back(b);
  for (size_t t = 0; !rows.empty(); ++t) {
    std::vector<int64_t> parents;
    std::vector<size_t> next;
    Tokens step;
    for (size_t r = 0; r < rows.size(); ++r) {
      if (t >= targets[rows[r]].size()) continue;
      parents.push_back(static_cast<int64_t>(r));
      step.push_back(targets[rows[r]][t]);
      next.push_back(rows[r]);
    }
    rows = next;
    if (rows.empty()) break;
    const auto scores = decoder.step(parents, step);
    for (size_t r = 0; r < rows.size(); ++r) {
      std::vector<float> known(expected(rows[r], t), expected(rows[r], t) + vocabulary);
      kernels::log_softmax({known.data(), vocabulary}, {known.data(), vocabulary}, 0, 1, vocabulary);
      expect_row(known.data(), scores.data() + static_cast<int64_t>(r) * vocabulary, vocabulary, largest(y),
                 "in steps");
      if (attention.empty()) continue;
      const auto weights = decoder.alignment(static_cast<int64_t>(r));
      const auto at = static_cast<int64_t>(rows[r]) * length + static_cast<int64_t>(t);
      expect_row(attention.data() + at * longest, weights.data(), std::ssize(weights), 1.0, "alignment");
    }
  }
}

TEST_P(TranslatorGolden, Agrees) {
  if (GetParam().stem().string().starts_with("cross_")) {
    cross_attention();
  } else {
    translator();
  }
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> paths;
  const char* folder = std::getenv("MEGA_GOLDEN_DIR");
  if (folder == nullptr || !std::filesystem::is_directory(folder)) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors") && (name.starts_with("cross_") || name.starts_with("mt_")))
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& file) {
  return file.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Files, TranslatorGolden, ::testing::ValuesIn(files()), name_of);

}  // namespace
}  // namespace mega::infer
