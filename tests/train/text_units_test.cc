// Classifiers and matchers of texts in every unit: trained, saved, and read by libtorch and by the engine.
#include <gtest/gtest.h>

#include <cmath>

#include "mega/baselines/model_builders.h"
#include "mega/infer/models/classifier.h"
#include "mega/train/run.h"
#include "mega/train/saved_model.h"
#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests
namespace fs = std::filesystem;

// Reviews as a table, for a matcher with a second text; two classes. `word` makes another set of words.
std::string reviews(int64_t count, bool pairs, const std::string& word) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    const bool good = i % 2 == 0;
    text += (good ? "pos\ta fine " : "neg\ta dull ") + word + " " + std::to_string(i % 13) + ", \u00e9 seen";
    if (pairs) text += good ? "\tindeed fine" : "\tnot again";
    text += "\n";
  }
  return text;
}

class TextUnitsTest : public ::testing::Test {
 protected:
  RunRequest request(TextUnits units, bool pairs, const char* out, const std::string& word = "film") const {
    const fs::path data = folder_.path() / (word + (pairs ? "-pairs.tsv" : ".tsv"));
    write_file(data, reviews(48, pairs, word));
    RunRequest request;
    request.recipe = letters_recipe();
    if (pairs) {
      MatcherOptions matcher;
      make_tiny(matcher);
      request.recipe.model.model = matcher;
    }
    sequence_options(request.recipe.model)->pooling = Pooling::cls;  // <CLS> has the last number
    request.recipe.train.updates = 6;
    request.recipe.train.evaluate = "3u";
    request.recipe.data.path = data;
    change(request.recipe, "input.units=" + std::string(to_string(units)));
    change(request.recipe, "input.max_length=24");
    request.folder = folder_ / out;
    return request;
  }

  const ScratchFolder folder_;
};

// libtorch and the engine answer alike on what the model was tested on.
void expect_agreement(const fs::path& path, const data::Dataset& dataset) {
  const SavedModel saved = load_model(path);
  const auto engine = infer::Classifier::open(path);
  const SequenceOptions& options = *sequence_options(saved.options);
  const data::Encoder encoder(saved.signature, cls_token(options));
  const auto documents = static_cast<int>(engine->documents());
  infer::ThreadPool pool(2);
  EnginePredictor predictor(*engine, pool);
  const Evaluation expected = evaluate(*saved.model, dataset.test, encoder, documents, {}),
                   ours = evaluate(predictor, dataset.test, encoder, documents, {});
  ASSERT_GT(expected.answers.size(), 0u);
  ASSERT_EQ(ours.answers.size(), expected.answers.size());
  EXPECT_EQ(ours.truth, expected.truth);
  for (size_t k = 0; k < ours.answers.size(); ++k) {
    const Answer &answer = ours.answers[k], &theirs = expected.answers[k];
    EXPECT_EQ(answer.length, theirs.length);
    EXPECT_NEAR(answer.loss, theirs.loss, 1e-5);
    ASSERT_EQ(answer.outputs.size(), theirs.outputs.size());
    for (size_t i = 0; i < answer.outputs.size(); ++i)
      EXPECT_NEAR(answer.outputs[i], theirs.outputs[i], 1e-5);
  }
}

TEST_F(TextUnitsTest, AreTrainedSavedAndReadByBoth) {
  for (const TextUnits units :
       {TextUnits::bytes, TextUnits::characters, TextUnits::words, TextUnits::sentencepiece}) {
    for (const bool pairs : {false, true}) {
      SCOPED_TRACE(std::string(to_string(units)) + (pairs ? ", pairs" : ""));
      const std::string out = std::string(to_string(units)) + (pairs ? "2" : "1");
      const RunRequest asked = request(units, pairs, out.c_str());
      ::testing::internal::CaptureStderr();
      run(asked);
      const std::string said = ::testing::internal::GetCapturedStderr();
      EXPECT_EQ(contains(said, " token types"), units != TextUnits::bytes);

      const fs::path path = asked.folder / "model.safetensors";
      const SavedModel saved = load_model(path);
      const auto tokenizer = make_tokenizer(saved.signature, INT64_MAX);
      const int64_t vocabulary = sequence_options(saved.options)->vocabulary;
      EXPECT_EQ(vocabulary, (tokenizer->size() + 1 + 7) / 8 * 8);
      EXPECT_EQ(saved.signature.vocabulary.empty(), units == TextUnits::bytes);
      if (units == TextUnits::words) {
        // a, film, seen, the comma's numbers, dull, fine; of pairs also the words of the second text.
        EXPECT_EQ(contains(saved.signature.vocabulary, "indeed\n"), pairs);
        EXPECT_EQ(sequence_options(load_run_recipe(asked.folder).model)->vocabulary, vocabulary);
      }
      const Recipe recipe = load_run_recipe(asked.folder);
      expect_agreement(path, load_dataset(data::dataset_request(recipe, saved.signature.classes)));
    }
  }
}

TEST_F(TextUnitsTest, AResumedRunHasTheSameTokens) {
  RunRequest asked = request(TextUnits::sentencepiece, false, "run");
  run(asked);
  RunRequest half = request(TextUnits::sentencepiece, false, "stopped");
  half.recipe.train.updates = 6;
  half.recipe.train.checkpoint = "3u";
  run(half);
  fs::remove_all(half.folder / "checkpoints/00000006");
  half.resume = true;
  EXPECT_NO_THROW(run(half));
  expect_same_run(asked.folder, half.folder);
}

TEST_F(TextUnitsTest, AnotherVocabularyDoesNotGoOn) {
  RunRequest asked = request(TextUnits::words, false, "run");
  run(asked);
  asked.resume = true;
  change(asked.recipe, "input.vocabulary=9");
  EXPECT_PRED2(contains, error_of([&] { run(asked); }), "the examples have changed since the run started");
}

TEST_F(TextUnitsTest, FineTuningKeepsTheVocabulary) {
  const RunRequest first = request(TextUnits::words, false, "first");
  run(first);
  RunRequest second = request(TextUnits::words, false, "second", "book");
  second.recipe.train.init = first.folder / "model.safetensors";
  second.recipe.train.updates = 1;
  ::testing::internal::CaptureStderr();
  run(second);
  EXPECT_PRED2(contains, ::testing::internal::GetCapturedStderr(), "started from");
  const auto vocabulary = [](const RunRequest& request) {
    return load_model(request.folder / "model.safetensors").signature.vocabulary;
  };
  EXPECT_EQ(vocabulary(second), vocabulary(first));
  EXPECT_FALSE(contains(vocabulary(second), "book\n"));

  second.folder = folder_ / "third";
  change(second.recipe, "input.units=characters");
  EXPECT_PRED2(contains, error_of([&] { run(second); }),
               "first/model.safetensors: its tokens are not characters, which input.units asks for");
  EXPECT_FALSE(fs::exists(second.folder));
}

TEST_F(TextUnitsTest, FewShortTextsAreEnough) {
  RunRequest asked = request(TextUnits::sentencepiece, false, "run");
  asked.recipe = load_preset("text-small");
  classifier(asked.recipe).layers = 1;
  asked.recipe.train.updates = 2;
  asked.recipe.train.warmup = 0;
  std::string text;
  for (int i = 0; i < 20; ++i) text += "1\tgood " + std::to_string(i) + "\n0\tbad\n";
  write_file(folder_ / "few.tsv", text);
  asked.recipe.data.path = folder_ / "few.tsv";
  EXPECT_NO_THROW(run(asked));
  const SavedModel saved = load_model(asked.folder / "model.safetensors");
  EXPECT_LT(sequence_options(saved.options)->vocabulary, 400);
}

// The model of a file to be spoilt, and what both that read it say.
struct File {
  ModelOptions options = letters_recipe().model;
  Signature signature;

  File(TextUnits units, std::string vocabulary) {
    signature.classes = {"a", "b"};
    signature.input.input = TextInput(units, 0);
    signature.vocabulary = std::move(vocabulary);
    std::get<ClassifierOptions>(options.model).vocabulary = 16;
  }

  std::string error() const {
    const ScratchFolder folder;
    const fs::path path = folder / "spoilt.safetensors";
    save_model(path, options, signature, weights_of(*baselines::make_sequence_model(options)));
    const std::string text = error_of([&] { infer::Classifier::open(path); });
    EXPECT_PRED2(contains, text, "spoilt.safetensors: ");
    EXPECT_EQ(text, error_of([&] { load_model(path); }));
    return text;
  }
};

TEST(SpoiltVocabulary, IsRefused) {
  EXPECT_PRED2(contains, File(TextUnits::words, "").error(), "vocabulary: a vocabulary without any word");
  EXPECT_PRED2(contains, File(TextUnits::words, "a\nb").error(), "vocabulary:2: the last line is cut off");
  EXPECT_PRED2(contains, File(TextUnits::words, "a\nb c\n").error(), "vocabulary:2: expected one word");
  EXPECT_PRED2(contains, File(TextUnits::characters, "a\na\n").error(), "on line 1 already");
  EXPECT_PRED2(contains, File(TextUnits::characters, "\xff\n").error(),
               "vocabulary:1: expected one character");
  EXPECT_PRED2(contains, File(TextUnits::sentencepiece, "").error(), "vocabulary");
  EXPECT_PRED2(contains, File(TextUnits::sentencepiece, std::string(1000, '\xff')).error(), "vocabulary");
  File bytes(TextUnits::bytes, "a\n");
  std::get<ClassifierOptions>(bytes.options.model).vocabulary = 264;
  EXPECT_PRED2(contains, bytes.error(), "vocabulary: bytes need no vocabulary");
}

TEST(SpoiltVocabulary, IsNoLargerThanTheModel) {
  std::string words;
  for (int i = 0; i < 12; ++i) words += std::to_string(i) + "\n";
  // 16 types, and one number for <CLS>.
  EXPECT_PRED2(contains, File(TextUnits::words, words).error(),
               "the vocabulary has 16 token types, the model 15");
  File wide(TextUnits::words, words);
  std::get<ClassifierOptions>(wide.options.model).vocabulary = 17;
  const ScratchFolder folder;
  save_model(folder / "model", wide.options, wide.signature,
             weights_of(*baselines::make_sequence_model(wide.options)));
  EXPECT_NO_THROW(load_model(folder / "model"));
  EXPECT_NO_THROW(infer::Classifier::open(folder / "model"));
}

}  // namespace
}  // namespace mega::train
