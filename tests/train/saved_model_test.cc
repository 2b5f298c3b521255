#include "mega/train/saved_model.h"

#include <gtest/gtest.h>

#include <functional>

#include "mega/base/options/options_io.h"
#include "mega/baselines/model_builders.h"
#include "mega/infer/quantize.h"
#include "tests/save_tensors.h"
#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests
namespace fs = std::filesystem;
using torch::Tensor;

// What a model file is made of, to be spoilt piece by piece.
struct Parts {
  ModelOptions options = letters_recipe().model;
  Signature signature;
  ops::NamedTensors weights;

  Parts() {
    signature.classes = {"a", "b"};
    weights = weights_of(*baselines::make_sequence_model(options));
  }
  // What load_model says of it.
  std::string error() const {
    const ScratchFolder folder;
    save_model(folder / "spoilt.safetensors", options, signature, weights);
    const std::string text = error_of([&] { load_model(folder / "spoilt.safetensors"); });
    EXPECT_PRED2(contains, text, "spoilt.safetensors: ");
    return text;
  }
};

TEST(SavedModel, ComesBackAsItWas) {
  const ScratchFolder folder;
  const data::Dataset dataset = letters_dataset();
  for (const bool transformer : {false, true}) {
    Recipe recipe = letters_recipe();
    classifier(recipe).block.norm = NormKind::batch;  // buffers too
    if (transformer) recipe.model = *baseline_of(recipe.model, "transformer");
    HookedTask task(recipe, dataset);
    task.draw(1);
    task.loss(0);  // moves the running statistics
    task.save(folder / "model.safetensors", weights_of(task.model()));
    const SavedModel saved = load_model(folder / "model.safetensors");
    EXPECT_EQ(saved.signature.classes, dataset.classes);
    const data::Encoder encoder(saved.signature, cls_token(saved.options));
    const Evaluation before = evaluate(task.sequence_model(), dataset.valid, task.encoder(), 1, {});
    const Evaluation after = evaluate(*saved.model, dataset.valid, encoder, 1, {});
    for (size_t i = 0; i < before.answers.size(); ++i)
      EXPECT_EQ(before.answers[i].outputs, after.answers[i].outputs);
  }
}

TEST(SavedModel, OfPicturesReadsAnotherSizeOfThem) {
  const ScratchFolder folder;
  const data::Dataset dataset = halves_dataset();
  for (const char* kind : {"image", "transformer", "resnet"}) {
    SCOPED_TRACE(kind);
    Recipe recipe = halves_recipe();
    data::fit_recipe(recipe, dataset);
    EXPECT_EQ(image_options(recipe.model)->rows(), 8);
    EXPECT_EQ(image_options(recipe.model)->columns(), 12);
    EXPECT_EQ(image_options(recipe.model)->channels, 1);
    if (const auto baseline = baseline_of(recipe.model, kind)) recipe.model = *baseline;
    HookedTask task(recipe, dataset);
    task.draw(1);
    task.loss(0);
    task.save(folder / "model.safetensors", weights_of(task.model()));

    const SavedModel same = load_model(folder / "model.safetensors", PictureSize{8, 12});
    const Evaluation before = evaluate(task.sequence_model(), dataset.valid, task.encoder(), 1, {});
    const Evaluation after = evaluate(*same.model, dataset.valid, data::Encoder(same.signature), 1, {});
    for (size_t i = 0; i < before.answers.size(); ++i)
      EXPECT_EQ(before.answers[i].outputs, after.answers[i].outputs);

    const SavedModel larger = load_model(folder / "model.safetensors", PictureSize{16, 20});
    EXPECT_EQ(std::get<ImageInput>(larger.signature.input.input).width, 20);
    EXPECT_EQ(larger.model->predict({{torch::randn({2, 320}), {}}}).sizes(), torch::IntArrayRef({2, 2}));
    const auto parameters = larger.model->named_parameters();
    if (const Tensor* positions = parameters.find("pos_embed")) {
      // As libtorch interpolates pictures.
      const int64_t extra = image_options(recipe.model)->extra_tokens();
      const Tensor own = task.model().named_parameters()["pos_embed"].detach().slice(1, extra);
      const Tensor grid = own.view({1, 2, 3, -1}).permute({0, 3, 1, 2});
      const Tensor expected = torch::upsample_bicubic2d(grid, {4, 5}, false).flatten(2).transpose(1, 2);
      EXPECT_TRUE(torch::allclose(positions->detach().slice(1, extra), expected, 1e-4, 1e-5));
    }
  }
  Recipe texts = letters_recipe();
  const data::Dataset letters = letters_dataset();
  HookedTask task(texts, letters);
  task.save(folder / "texts.safetensors", weights_of(task.model()));
  EXPECT_PRED2(contains, error_of([&] {
                 load_model(folder / "texts.safetensors", PictureSize{8, 8});
               }),
               "only a model of pictures");
}

TEST(SavedModel, FineTuningRenewsTheHeadAlone) {
  const ScratchFolder folder;
  Recipe recipe = letters_recipe();
  data::Dataset dataset = letters_dataset();
  HookedTask old_task(recipe, dataset);
  old_task.save(folder / "two.safetensors", weights_of(old_task.model()));

  classifier(recipe).classes = 3;
  recipe.train.seed = 9;
  dataset.classes.push_back("c");
  HookedTask task(recipe, dataset);
  std::map<std::string, Tensor> fresh;
  for (const auto& [name, weight] : weights_of(task.model())) fresh[name] = weight.detach().clone();
  const std::vector<std::string> renewed =
      load_matching_weights(task.model(), Safetensors::open(folder / "two.safetensors"));
  EXPECT_EQ(renewed, std::vector<std::string>{"sentence_projection_layer.weight"});
  std::map<std::string, Tensor> old;
  for (const auto& [name, weight] : weights_of(old_task.model())) old[name] = weight.detach();
  for (const auto& [name, weight] : weights_of(task.model()))
    EXPECT_TRUE(weight.equal(name == renewed.front() ? fresh[name] : old[name])) << name;
  EXPECT_PRED2(contains,
               error_of([&] { load_weights(task.model(), Safetensors::open(folder / "two.safetensors")); }),
               "sentence_projection_layer.weight");
}

TEST(SavedModel, WeightsOfAnotherShapeOrNameAreAnError) {
  Parts missing;
  missing.weights.pop_back();
  EXPECT_PRED2(contains, missing.error(), "1 weights are missing");
  Parts shape;
  shape.weights.front().second = torch::zeros({3, 3});
  shape.weights.emplace_back("filling", torch::zeros({100000}));
  EXPECT_PRED2(contains, shape.error(), "another shape: " + shape.weights.front().first);
}

TEST(SavedModel, OfLowPrecisionComesBackNearly) {
  const ScratchFolder folder;
  const Parts parts;
  save_model(folder / "model.safetensors", parts.options, parts.signature, parts.weights);
  for (const auto type : {kernels::WeightType::i8, kernels::WeightType::bf16}) {
    infer::quantize(folder / "model.safetensors", folder / "small.safetensors", type);
    const SavedModel saved = load_model(folder / "small.safetensors");
    EXPECT_EQ(saved.signature.classes, parts.signature.classes);
    const ops::NamedTensors weights = weights_of(*saved.model);
    bool changed = false;
    for (size_t i = 0; i < weights.size(); ++i) {
      const Tensor& before = parts.weights[i].second;
      const Tensor difference = (weights[i].second - before).abs();
      EXPECT_LE(difference.max().item<float>(), before.abs().max().item<float>() / 250) << weights[i].first;
      changed = changed || difference.max().item<float>() > 0;
    }
    EXPECT_TRUE(changed);
  }
}

TEST(SavedModel, WholeNumbersWithoutTheirScalesAreRefused) {
  const Parts good;
  for (size_t i = 0; i < good.weights.size(); ++i) {
    const auto& [name, weight] = good.weights[i];
    if (!name.ends_with("v_proj.weight")) continue;
    Parts parts;
    parts.weights[i].second = weight.detach().to(torch::kInt8);
    EXPECT_PRED2(contains, parts.error(), name + "_scale");
    parts.weights.emplace_back(name + "_scale", torch::ones({weight.size(0) + 1}));
    EXPECT_PRED2(contains, parts.error(), "one F32 scale for each row");
    return;
  }
  FAIL() << "no such weight";
}

// A few bytes of options must not ask for all memory.
TEST(SavedModel, OptionsLargerThanTheFileAreRefused) {
  const std::function<void(ClassifierOptions&)> larger[] = {
      [](auto& o) { o.block.width = 1 << 20; },
      [](auto& o) { o.block.values = o.block.hidden = 1 << 20, o.layers = 1000; },
      [](auto& o) { o.vocabulary = 1 << 30; },
      [](auto& o) { o.head = 1 << 20; },
      [](auto& o) { o.block.max_positions = 1'000'000'000; },
      [](auto& o) { o.block.chunk = 1'000'000'000; },
      [](auto& o) { o.block.ema.dimension = 1024, o.layers = 1000; },
  };
  for (const auto& enlarge : larger) {
    Parts parts;
    enlarge(std::get<ClassifierOptions>(parts.options.model));
    EXPECT_PRED2(contains, parts.error(), "are missing or have another shape");
  }
  Parts classes;
  std::get<ClassifierOptions>(classes.options.model).classes = 1 << 19;
  classes.signature.classes.clear();
  for (int i = 0; i < 1 << 19; ++i) classes.signature.classes.push_back(std::to_string(i));
  EXPECT_PRED2(contains, classes.error(), "are missing or have another shape");
  Parts transformer;
  TransformerOptions wide;
  wide.width = wide.hidden = 1 << 18;
  transformer.options.model = wide;
  EXPECT_PRED2(contains, transformer.error(), "are missing or have another shape");
}

TEST(SavedModel, ASignatureOfAnotherModelIsRefused) {
  Parts classes;
  classes.signature.classes = {"a"};
  EXPECT_PRED2(contains, classes.error(), "2 outputs");
  Parts regression;
  std::get<ClassifierOptions>(regression.options.model).objective = Objective::regression;
  EXPECT_PRED2(contains, regression.error(), "outputs");
  regression.signature.classes.clear();
  regression.signature.target_mean = regression.signature.target_deviation = {1.0F};
  EXPECT_PRED2(contains, regression.error(), "2 outputs");
  Parts kind;
  kind.signature.input.input = ImageInput{};
  EXPECT_PRED2(contains, kind.error(), "does not fit input.kind");
  Parts channels;
  std::get<ClassifierOptions>(channels.options.model).input = InputKind::series;
  channels.signature.input.input = SeriesInput{.channels = 3};
  EXPECT_PRED2(contains, channels.error(), "model.channels = 1");
  std::get<ClassifierOptions>(channels.options.model).channels = 3;
  channels.signature.mean = channels.signature.deviation = {1.0F, 2.0F};
  EXPECT_PRED2(contains, channels.error(), "does not fit an input of 3 channel(s)");
  Parts vocabulary;
  std::get<ClassifierOptions>(vocabulary.options.model).vocabulary = 100;
  EXPECT_PRED2(contains, vocabulary.error(), "model.vocabulary = 100 is too small");
  Parts language;
  language.options.model = LanguageModelOptions{};
  EXPECT_PRED2(contains, language.error(), "not a classifier or matcher");
}

TEST(SavedModel, FilesThatAreNoModels) {
  const ScratchFolder folder;
  const Parts parts;
  save_model(folder / "good.safetensors", parts.options, parts.signature, parts.weights);
  const std::string good = read_file(folder / "good.safetensors");
  EXPECT_NO_THROW(load_model(folder / "good.safetensors"));
  for (const double share : {0.0, 0.01, 0.3, 0.9}) {
    write_file(folder / "cut.safetensors",
               good.substr(0, static_cast<size_t>(share * static_cast<double>(good.size()))));
    EXPECT_PRED2(contains, error_of([&] { load_model(folder / "cut.safetensors"); }), "cut.safetensors");
  }
  EXPECT_PRED2(contains, error_of([&] { load_model(folder / "none.safetensors"); }), "none.safetensors");
  EXPECT_PRED2(contains, error_of([&] { load_model(folder.path()); }), folder.path().string());

  // Weights alone, as other software writes them; and a model that was never trained.
  testing::save_tensors(folder / "bare.safetensors", parts.weights);
  EXPECT_PRED2(contains, error_of([&] { load_model(folder / "bare.safetensors"); }), "not a model of mega");
  write_model_file(folder / "untrained.safetensors", parts.options, ops::TensorViews(parts.weights).views());
  EXPECT_PRED2(contains, error_of([&] { load_model(folder / "untrained.safetensors"); }), "not trained");

  // Any byte of the header.
  const size_t header = good.find('\0', 8) == std::string::npos ? good.size() : good.find('\0', 8);
  for (size_t at = 0; at < header; at += 1 + header / 300) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    write_file(folder / "flipped.safetensors", flipped);
    try {
      load_model(folder / "flipped.safetensors");
    } catch (const Error& error) {
      EXPECT_PRED2(contains, std::string(error.what()), "flipped.safetensors");
    }
  }
}

}  // namespace
}  // namespace mega::train
