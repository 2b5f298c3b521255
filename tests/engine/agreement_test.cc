// The engine against the libtorch modules: the same model file gives the same results for any kind of model,
// attention function, norm, position, chunk and length, and any split of a text.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "mega/base/options/options_io.h"
#include "mega/config/files/model_file.h"
#include "mega/infer/generation/log_probability.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/models/image_classifier.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/infer/session.h"
#include "mega/infer/translation/score_pairs.h"
#include "mega/models/classifier.h"
#include "mega/models/image_classifier.h"
#include "mega/models/language_model.h"
#include "mega/models/translator.h"
#include "mega/ops/tensor_file.h"
#include "mega/train/saved_model.h"
#include "tests/base/helpers.h"
#include "tests/models/helpers.h"

namespace mega {
namespace {

using testing::ScratchFolder;
using testing::with_large_weights;

constexpr double kTolerance = 1e-5;

// Random options.
class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}

  int64_t upto(int64_t most) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(most + 1)); }
  bool coin() { return upto(1) == 1; }
  template <class T>
  T one_of(std::vector<T> values) {
    return values[static_cast<size_t>(upto(std::ssize(values) - 1))];
  }
  template <class Enum>
  Enum any() {
    constexpr auto& names = EnumNames<Enum>::names;
    return names[static_cast<size_t>(upto(std::ssize(names) - 1))].value;
  }

 private:
  std::mt19937 random_;
};

// Gates multiply what batch norm does not bound: after several layers, numbers of 1e11 have no common digits.
bool is_bounded(const BlockOptions& block) {
  return block.norm != NormKind::batch && block.norm != NormKind::sync_batch;
}

BlockOptions random_block(Dice& dice, bool stream) {
  BlockOptions block;
  block.width = dice.one_of<int64_t>({8, 20, 33});
  block.values = dice.one_of<int64_t>({12, 32, 37});
  block.shared = dice.one_of<int64_t>({4, 10, 16});
  block.hidden = dice.one_of<int64_t>({0, 24, 40});
  block.ema.kind = dice.any<EmaKind>();
  block.ema.dimension = dice.one_of<int64_t>({0, 1, 2, 5, 16});
  block.ema.bidirectional = !stream && dice.coin();
  block.ema.truncation = stream ? 0 : dice.one_of<int64_t>({0, 3, 20});
  if (block.ema.kind == EmaKind::complex) block.ema.truncation = 0;
  block.ema.scaled = dice.coin();
  block.ema.skip = dice.coin();
  block.ema.activated = dice.coin();
  block.ema.shift = block.values == 32;
  block.ema.exchanged = block.shared == 10;
  block.attention = dice.any<AttentionFunction>();
  block.position = dice.any<PositionKind>();
  block.max_positions = 300;
  block.chunk = dice.one_of<int64_t>({-1, 1, 5, 16, 70, 129});
  block.causal = stream || (!block.ema.bidirectional && dice.coin());
  block.norm = dice.any<NormKind>();
  // A batch norm by given statistics bounds nothing: with averages that turn, numbers grow from block to
  // block, and their rounding with them.
  if (block.ema.kind == EmaKind::complex &&
      (block.norm == NormKind::batch || block.norm == NormKind::sync_batch))
    block.norm = NormKind::layer;
  block.norm_groups = block.width % 4 == 0 ? 4 : 3;
  block.prenorm = dice.coin();
  block.affine = dice.coin();
  block.activation = dice.any<Activation>();
  // Repeated squaring would overflow where batch norm does not bound its output.
  const bool bounded = is_bounded(block);
  if (!bounded && block.activation == Activation::relu2) block.activation = Activation::silu;
  if (!bounded && block.attention == AttentionFunction::relu2) block.attention = AttentionFunction::softmax;
  return block;
}

// Batch norm's running statistics are zeros and ones before training.
template <class Module>
void draw_statistics(Module& module) {
  for (auto& item : module.named_buffers()) {
    const std::string& name = item.key();
    if (name.ends_with("running_mean")) item.value().normal_(0.0, 0.5);
    if (name.ends_with("running_var")) item.value().uniform_(0.5, 2.0);
  }
}

// Writes the model, then computes in double: what remains is the rounding of the engine, whichever BLAS
// libtorch uses.
template <class Model>
void save_and_widen(const std::filesystem::path& path, const ModelOptions& options, Model& model) {
  const ops::NamedTensors weights = train::weights_of(*model);
  const ops::TensorViews views(weights);
  write_model_file(path, options, views.views());
  model->to(torch::kFloat64);
}

// Differences are relative to the largest value if that is above 1.
void expect_close(const torch::Tensor& expected, std::span<const float> actual, const std::string& what) {
  ASSERT_EQ(expected.numel(), std::ssize(actual)) << what;
  const torch::Tensor flat = expected.reshape(-1).to(torch::kFloat32).contiguous();
  double largest = 1.0, worst = 0.0;
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const auto e = static_cast<double>(flat.data_ptr<float>()[i]);
    const double difference = std::abs(e - static_cast<double>(actual[static_cast<size_t>(i)]));
    largest = std::max(largest, std::abs(e));
    if (!(difference <= worst)) worst = difference;  // also NaN
  }
  EXPECT_LE(worst, kTolerance * largest) << what;
}

std::vector<int32_t> draw_tokens(Dice& dice, int64_t count, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(dice.upto(vocabulary - 1)));
  return tokens;
}

torch::Tensor as_tensor(const std::vector<int32_t>& tokens) {
  const torch::Tensor result = torch::empty({1, std::ssize(tokens)}, torch::kInt64);
  std::copy(tokens.begin(), tokens.end(), result.data_ptr<int64_t>());
  return result;
}

class EngineAgrees : public ::testing::TestWithParam<uint32_t> {
 protected:
  EngineAgrees() { torch::manual_seed(GetParam()); }

  void check(const LanguageModelOptions& options);
  void check(const ClassifierOptions& options);

  ScratchFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
  Dice dice_{GetParam()};
  std::shared_ptr<infer::ThreadPool> pool_ = std::make_shared<infer::ThreadPool>(2);
};

LanguageModelOptions random_language_model(Dice& dice) {
  LanguageModelOptions options;
  options.block = random_block(dice, true);
  options.vocabulary = 64;
  options.layers = 1 + dice.upto(2);
  options.scale_embedding = dice.coin();
  options.affine_final_norm = dice.coin();
  options.normalize_embedding = !options.block.prenorm && dice.coin();
  options.tie_output = dice.coin();
  if (dice.coin()) {
    options.cutoffs = {20, 45};
    options.band_factor = 2;
    options.tie_output = true;
    options.tie_projections = dice.coin();
  } else if (!options.tie_output && dice.coin()) {
    options.embedding_width = 6;
  }
  return options;
}

void EngineAgrees::check(const LanguageModelOptions& options) {
  ModelOptions all;
  all.model = options;
  SCOPED_TRACE(options_to_json(all).dump());
  models::LanguageModel model = with_large_weights(models::LanguageModel(options));
  draw_statistics(*model);
  save_and_widen(path_, all, model);

  const torch::NoGradGuard guard;
  const int64_t length = 1 + dice_.upto(150);
  const auto tokens = draw_tokens(dice_, length, options.vocabulary);
  nn::State state;
  const torch::Tensor features = model->features(as_tensor(tokens), {}, &state);
  const torch::Tensor expected = model->log_probabilities(features.squeeze(0));  // (L, vocabulary)

  const auto engine = infer::LanguageModel::open(path_);
  infer::Session session(engine, pool_), saved = session;
  std::vector<float> scores;
  const auto next = draw_tokens(dice_, length, options.vocabulary);
  for (int64_t begin = 0; begin < length;) {
    const int64_t count = std::min(length - begin, 1 + dice_.upto(dice_.coin() ? 3 : 60));
    const auto piece = std::span(tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
    const auto targets = std::span(next).subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
    switch (dice_.upto(2)) {
      case 0: {  // as a fork that replaces the session
        infer::Session fork = session.fork();
        session.feed(draw_tokens(dice_, 5, options.vocabulary));
        session = std::move(fork);
        break;
      }
      case 1:  // through a file
        session.save(folder_ / "state");
        session = infer::Session::load(folder_ / "state", engine, pool_);
        break;
      default:
        break;
    }
    std::vector<float> part(piece.size());
    session.score(piece, targets, part);
    scores.insert(scores.end(), part.begin(), part.end());
    begin += count;
    // Equal up to a constant.
    std::vector<float> logits(session.logits().begin(), session.logits().end());
    const double shift = infer::log_probability(logits, 0) - static_cast<double>(logits[0]);
    for (float& logit : logits) logit += static_cast<float>(shift);
    expect_close(expected[begin - 1], logits, "logits at " + std::to_string(begin - 1));
    if (HasFailure()) return;
  }
  EXPECT_EQ(session.position(), length);
  expect_close(expected.gather(1, as_tensor(next).view({-1, 1})), scores, "scores");
}

TEST_P(EngineAgrees, OnLanguageModels) { check(random_language_model(dice_)); }

// As Hugging Face's models end. (The layer norm bounds numbers: tanh makes small ones of large ones, with the
// rounding of the large ones.)
TEST_P(EngineAgrees, OnLanguageModelsWithOtherEnds) {
  LanguageModelOptions options = random_language_model(dice_);
  options.cutoffs.clear();
  options.block.norm = NormKind::layer;
  options.final_norm = false;
  options.output_dense = dice_.coin();
  options.output_bias = true;
  check(options);
}

EncoderClassifierOptions random_classifier(Dice& dice) {
  EncoderClassifierOptions options;
  options.block = random_block(dice, false);
  options.input = dice.any<InputKind>();
  options.vocabulary = 30;
  options.channels = options.input == InputKind::series ? 1 + dice.upto(2) : 1;
  options.classes = 1 + dice.upto(4);
  options.layers = 1 + dice.upto(2);
  options.head = 12;
  options.pooling = dice.one_of<Pooling>({Pooling::mean, Pooling::cls});
  options.normalize_embedding = !options.block.prenorm && dice.coin();
  return options;
}

// A sequence for both engine and module.
struct Document {
  std::vector<int32_t> tokens;
  torch::Tensor values;  // (1, L) or (1, L, channels)
  int64_t length;

  Document(Dice& dice, const SequenceOptions& options) : length(1 + dice.upto(200)) {
    if (options.input == InputKind::tokens) {
      tokens = draw_tokens(dice, length, options.vocabulary);
      values = as_tensor(tokens);
    } else {
      values = options.channels > 1 ? torch::randn({1, length, options.channels}) : torch::randn({1, length});
    }
  }

  torch::Tensor wide() const { return tokens.empty() ? values.to(torch::kFloat64) : values; }

  infer::SequenceView view() const {
    if (!tokens.empty()) return {tokens, {}, length};
    return {{}, {values.data_ptr<float>(), static_cast<size_t>(values.numel())}, length};
  }
};

void EngineAgrees::check(const ClassifierOptions& options) {
  ModelOptions all;
  all.model = options;
  SCOPED_TRACE(options_to_json(all).dump());
  models::Classifier model = with_large_weights(models::Classifier(options));
  draw_statistics(*model);
  save_and_widen(path_, all, model);
  const torch::NoGradGuard guard;
  const auto engine = infer::Classifier::open(path_);
  infer::Workspace work;
  for (int i = 0; i < 3; ++i) {
    const Document document(dice_, options);
    const infer::SequenceView view = document.view();
    expect_close(model->forward({document.wide(), {}}), engine->outputs({&view, 1}, {*pool_, work}),
                 "length " + std::to_string(document.length));
  }
}

TEST_P(EngineAgrees, OnClassifiers) { check(ClassifierOptions(random_classifier(dice_))); }

TEST_P(EngineAgrees, OnClassifiersWithOtherEnds) {
  EncoderClassifierOptions options = random_classifier(dice_);
  options.block.norm = NormKind::layer;
  options.final_norm = false;
  options.pooling = Pooling::first;
  options.head_activation = HeadActivation::tanh;
  options.head_bias = true;
  check(ClassifierOptions(options));
}

TEST_P(EngineAgrees, OnMatchers) {
  const MatcherOptions options{random_classifier(dice_)};
  ModelOptions all;
  all.model = options;
  SCOPED_TRACE(options_to_json(all).dump());
  models::Matcher model = with_large_weights(models::Matcher(options));
  draw_statistics(*model);
  save_and_widen(path_, all, model);
  const torch::NoGradGuard guard;
  const auto engine = infer::Classifier::open(path_);
  infer::Workspace work;
  const Document first(dice_, options), second(dice_, options);
  const std::vector<infer::SequenceView> views = {first.view(), second.view()};
  expect_close(model->forward({first.wide(), {}}, {second.wide(), {}}),
               engine->outputs(views, {*pool_, work}), "pair");
}

ImageClassifierOptions random_image_classifier(Dice& dice) {
  ImageClassifierOptions options;
  options.block = random_block(dice, false);
  options.block.causal = false;
  options.block.prenorm = true;
  options.image = 1 + dice.upto(40);
  options.image_width = dice.coin() ? 0 : 1 + dice.upto(40);
  options.channels = dice.one_of<int64_t>({1, 3});
  options.patch = dice.one_of<int64_t>({1, 3, 8, 16});
  if (options.patch == 1) options.image = std::min<int64_t>(options.image, 12);
  options.patch_form = dice.any<PatchForm>();
  options.positions = dice.coin();
  options.representation = dice.one_of<int64_t>({0, 9});
  options.classes = 1 + dice.upto(4);
  options.layers = 1 + (is_bounded(options.block) ? dice.upto(2) : 0);
  return options;
}

// Of the size of training, and of another, for which learned positions are interpolated.
TEST_P(EngineAgrees, OnPictures) {
  ModelOptions all;
  all.model = random_image_classifier(dice_);
  SCOPED_TRACE(options_to_json(all).dump());
  models::ImageClassifier model =
      with_large_weights(models::ImageClassifier(std::get<ImageClassifierOptions>(all.model)));
  draw_statistics(*model);
  save_and_widen(path_, all, model);
  const torch::NoGradGuard guard;
  infer::Workspace work;
  const auto compare = [&](models::ImageClassifier& expected, const infer::ImageClassifier& engine) {
    const ImageClassifierOptions& options = engine.options();
    const torch::Tensor pixels = torch::randn({1, options.max_length(), options.channels});
    const infer::SequenceView view{
        {}, {pixels.data_ptr<float>(), static_cast<size_t>(pixels.numel())}, options.max_length()};
    expected->eval();
    expect_close(expected->predict({{pixels.to(torch::kFloat64), {}}}),
                 engine.outputs({&view, 1}, {*pool_, work}),
                 std::to_string(options.rows()) + " by " + std::to_string(options.columns()));
  };
  compare(model, *infer::ImageClassifier::open(path_));

  // TUPE's positions are a table of pairs, which nobody interpolates.
  const BlockOptions& block = std::get<ImageClassifierOptions>(all.model).block;
  if (block.position == PositionKind::tupe && block.chunk < 0) return;
  const PictureSize size{1 + dice_.upto(20), 1 + dice_.upto(20)};
  InputOptions input;
  input.input = ImageInput{};
  ModelOptions resized = all;
  set_picture_size(resized, input, size);
  models::ImageClassifier other(std::get<ImageClassifierOptions>(resized.model));
  const ModelFile file = ModelFile::open(path_);
  EXPECT_TRUE(train::load_matching_weights(*other, file, resized).empty());
  other->to(torch::kFloat64);
  compare(other, infer::ImageClassifier(ModelFile::open(path_), "file", size));
}

TranslatorOptions random_translator(Dice& dice) {
  TranslatorOptions options;
  options.block = random_block(dice, false);
  options.block.causal = false;
  options.vocabulary = 50;
  options.share_embeddings = dice.coin();
  if (!options.share_embeddings && dice.coin()) options.source_vocabulary = 30;
  const bool bounded = is_bounded(options.block);
  options.encoder_layers = 1 + (bounded ? dice.upto(2) : 0);
  options.decoder_layers = 1 + (bounded ? dice.upto(2) : 0);
  options.tie_output = dice.coin();
  options.scale_embedding = dice.coin();
  options.normalize_embedding = !options.block.prenorm && dice.coin();
  return options;
}

TEST_P(EngineAgrees, OnTranslators) {
  const TranslatorOptions options = random_translator(dice_);
  ModelOptions all;
  all.model = options;
  SCOPED_TRACE(options_to_json(all).dump());
  models::Translator model = with_large_weights(models::Translator(options));
  draw_statistics(*model);
  model->eval();
  save_and_widen(path_, all, model);
  const torch::NoGradGuard guard;
  infer::TranslatorDecoder decoder(infer::Translator::open(path_), pool_);
  std::vector<std::vector<int32_t>> sources, targets;
  for (int i = 0; i < 3; ++i) {
    sources.push_back(draw_tokens(dice_, dice_.upto(100), options.source_types()));
    targets.push_back(draw_tokens(dice_, dice_.upto(40), options.vocabulary));
    sources.back().push_back(kEnd);
    targets.back().push_back(kEnd);
  }
  const auto scores = infer::score_pairs(decoder, sources, targets);
  for (size_t i = 0; i < scores.size(); ++i) {
    std::vector<int32_t> before = {kEnd};
    before.insert(before.end(), targets[i].begin(), targets[i].end() - 1);
    nn::State state;  // with one, the decoder's EMA is not truncated
    const torch::Tensor features =
        model->features(as_tensor(before), {}, model->encode(as_tensor(sources[i])), &state);
    expect_close(model->log_probabilities(features[0]).gather(1, as_tensor(targets[i]).view({-1, 1})),
                 scores[i], "pair " + std::to_string(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EngineAgrees, ::testing::Range(uint32_t{0}, uint32_t{60}));

}  // namespace
}  // namespace mega
