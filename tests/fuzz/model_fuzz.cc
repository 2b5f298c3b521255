// Any bytes as a model file of the engine: either it reads a few tokens, or there is an Error.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/files/tensor_hash.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/quantize.h"
#include "mega/infer/session.h"
#include "tests/fuzz/edited_file.h"
#include "tests/infer/tiny_model.h"

namespace {

using namespace mega;

// Good models of several kinds, small enough that there is room for changes.
std::vector<std::string> good_models() {
  const TemporaryFolder folder;
  std::vector<std::string> models;
  const auto add = [&](const ModelOptions& options) {
    testing::write_random_model(folder.path() / "model", options);
    models.push_back(read_file(folder.path() / "model"));
  };
  LanguageModelOptions language = testing::tiny_language_model();
  add({language});
  language.layers = 1;
  language.vocabulary = 40;
  language.cutoffs = {10, 25};
  language.band_factor = 2;
  language.tie_projections = false;
  language.block.position = PositionKind::tupe;
  language.block.norm = NormKind::scale;
  language.block.prenorm = true;
  add({language});
  infer::quantize(folder.path() / "model", folder.path() / "int8", kernels::WeightType::i8);
  models.push_back(read_file(folder.path() / "int8"));
  ClassifierOptions classifier = testing::tiny_classifier();
  add({classifier});
  classifier.input = InputKind::series;
  classifier.channels = 2;
  classifier.layers = 1;
  classifier.block.norm = NormKind::batch;
  classifier.block.ema.kind = EmaKind::plain;
  classifier.block.position = PositionKind::simple;
  add({classifier});
  MatcherOptions matcher;
  static_cast<EncoderClassifierOptions&>(matcher) = testing::tiny_classifier();
  add({matcher});
  return models;
}

// Time goes into many files, not into large models.
bool is_small(const BlockOptions& block, int64_t layers) {
  return layers <= 4 && block.width <= 64 && block.values <= 64 && block.shared <= 64 && block.hidden <= 64 &&
         block.ema.dimension <= 16 && block.max_positions <= 4096 && block.chunk <= 4096;
}

void read_text(ModelFile file, infer::ThreadPool& pool) {
  const infer::LanguageModel model(std::move(file), "fuzz");
  infer::Workspace work;
  const infer::Run run{pool, work};
  infer::State state = model.initial_state(kernels::WeightType::bf16);
  const std::vector<int32_t> tokens(20, 1);
  std::vector<float> logits(static_cast<size_t>(model.options().vocabulary));
  for (const size_t count : {1, 9, 20}) {
    model.check_tokens(tokens);
    const infer::Segment segment{&state, 0, static_cast<int64_t>(count)};
    const kernels::Rows features = model.read(std::span(tokens).first(count), {&segment, 1}, run);
    model.output().logits({features.data, features.stride}, {logits.data(), std::ssize(logits)}, 1, run);
  }
}

void classify(ModelFile file, infer::ThreadPool& pool) {
  const infer::Classifier model(std::move(file), "fuzz");
  infer::Workspace work;
  constexpr int64_t kLength = 20;
  const bool reads_tokens = model.options().input == InputKind::tokens;
  const std::vector<int32_t> tokens(reads_tokens ? kLength : 0, 1);
  const std::vector<float> values(reads_tokens ? 0 : static_cast<size_t>(kLength * model.options().channels),
                                  0.5f);
  const std::vector<infer::SequenceView> documents(static_cast<size_t>(model.documents()),
                                                   {tokens, values, kLength});
  model.outputs(documents, {pool, work});
}

void use(std::span<const std::byte> bytes) {
  static infer::ThreadPool pool(1);
  ModelFile file = ModelFile::parse(bytes, "fuzz");
  if (const auto* language = std::get_if<LanguageModelOptions>(&file.options.model)) {
    if (is_small(language->block, language->layers)) read_text(std::move(file), pool);
  } else if (const auto* one = std::get_if<ClassifierOptions>(&file.options.model)) {
    if (is_small(one->block, one->layers)) classify(std::move(file), pool);
  } else if (const auto* two = std::get_if<MatcherOptions>(&file.options.model)) {
    if (is_small(two->block, two->layers)) classify(std::move(file), pool);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> models = good_models();
  FuzzedDataProvider choices(data, size);
  std::string bytes;
  if (choices.ConsumeBool()) {
    const std::string& good = models[choices.ConsumeIntegralInRange<size_t>(0, models.size() - 1)];
    mega::testing::EditedFile file(mega::Safetensors::parse(std::as_bytes(std::span(good)), "good"));
    file.metadata.erase(mega::kChecksumKey);  // or no change would get past it
    file.edit(choices);
    bytes = file.bytes();
  } else {
    bytes = choices.ConsumeRemainingBytesAsString();
  }
  try {
    use(std::as_bytes(std::span(bytes)));
  } catch (const mega::Error&) {
  }
  return 0;
}
