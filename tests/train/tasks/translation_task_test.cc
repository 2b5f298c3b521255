#include "mega/train/tasks/translation_task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "mega/data/parallel/pair_source.h"
#include "mega/infer/translation/score_pairs.h"
#include "mega/models/translation_decoder.h"
#include "mega/train/saved_model.h"
#include "mega/train/tasks/translation_job.h"
#include "tests/train/translation_helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests

class TranslationTaskTest : public TranslationTest {
 protected:
  Outcome train(const Recipe& recipe, const std::filesystem::path& folder, bool resume = false) const {
    const TranslationJob job(recipe);
    const std::unique_ptr<Task> task = job.make_task(torch::kCPU);
    std::filesystem::create_directories(folder);
    RunSettings settings;
    settings.folder = folder;
    settings.resume = resume;
    return Trainer(*task, recipe.train, settings).run();
  }
};

double value_of(const Scores& scores, const std::string& name) {
  for (const Metric& metric : scores.metrics)
    if (metric.name == name) return metric.value;
  ADD_FAILURE() << "no " << name;
  return NAN;
}

TEST_F(TranslationTaskTest, LearnsALanguage) {
  for (const char* kind : {"translator", "transformer"}) {
    SCOPED_TRACE(kind);
    Recipe one = recipe();
    one.train.updates = 300;
    one.train.evaluate = "150u";
    if (std::string(kind) == "transformer") change(one, "model.kind=transformer");
    const TranslationJob job(one);
    const Scores before = job.make_task(torch::kCPU)->evaluate();
    const Outcome outcome = train(one, folder_ / kind);
    const Scores& after = outcome.state.best;
    EXPECT_EQ(after.metrics.front().name, "loss");
    EXPECT_FALSE(after.higher_is_better);
    EXPECT_GT(value_of(before, "loss"), 2.0);
    EXPECT_LT(value_of(before, "BLEU"), 10.0);
    EXPECT_LT(value_of(after, "loss"), 0.7);
    EXPECT_GT(value_of(after, "BLEU"), 40.0);
    EXPECT_NEAR(value_of(after, "perplexity"), std::exp(value_of(after, "loss")), 1e-9);
    const std::string samples = read_file(folder_ / kind / "metrics.jsonl");
    EXPECT_PRED2(contains, samples, "\"valid_bleu\"");
    EXPECT_PRED2(contains, samples, "→");
  }
}

TEST_F(TranslationTaskTest, SameSeedSameBitsAndResumesBitForBit) {
  Recipe whole = recipe();
  std::get<TranslatorOptions>(whole.model.model).block.dropout = 0.1;
  train(whole, folder_ / "whole");
  train(whole, folder_ / "again");
  expect_same_run(folder_ / "whole", folder_ / "again");
  whole.train.schedule = Schedule::constant;
  Recipe first = whole;
  first.train.updates = 8;  // with an evaluation at its end, as the whole run has one there
  train(whole, folder_ / "straight");
  train(first, folder_ / "cut");
  train(whole, folder_ / "cut", /*resume=*/true);
  expect_same_run(folder_ / "straight", folder_ / "cut");
}

TEST_F(TranslationTaskTest, TheLossIsSmoothedAndCountsTargetTokens) {
  Recipe smooth = recipe();
  smooth.train.label_smoothing = 0.1;
  const TranslationJob job(smooth);
  const std::unique_ptr<Task> task = job.make_task(torch::kCPU);
  const int64_t tokens = task->draw(1);
  const BatchLoss loss = task->loss(0);
  EXPECT_EQ(loss.positions, tokens);

  // The same batch by itself: (1 - e) nll + e / V sum of all, as released.
  const data::ParallelCorpus corpus = data::load_parallel(data::parallel_request(job.recipe()));
  data::PairSource source(corpus.train, {256, BatchUnit::tokens, true}, 1);
  const data::Batch batch = source.make(source.plan(0).front());
  auto& model = dynamic_cast<models::TranslationModel&>(task->model());
  const torch::NoGradGuard guard;
  double expected = 0.0;
  int64_t counted = 0;
  for (int64_t i = 0; i < batch.size(); ++i) {  // pair by pair, without padding
    const data::Batch one =
        data::make_pair_batch(corpus.train, std::vector{batch.examples[static_cast<size_t>(i)]});
    const auto tensor = [](const data::SequenceSet& set) {
      return torch::tensor(std::vector<int64_t>(set.tokens.begin(), set.tokens.end())).unsqueeze(0);
    };
    const torch::Tensor features =
        model.features(tensor(one.inputs[1]), {}, model.encode(tensor(one.inputs[0]))).squeeze(0);
    const torch::Tensor said = model.log_probabilities(features);
    const torch::Tensor targets = tensor(one.targets.sequences).squeeze(0);
    const double own = -said.gather(1, targets.unsqueeze(1)).sum().item<double>();
    expected += 0.9 * own - 0.1 / static_cast<double>(model.vocabulary()) * said.sum().item<double>();
    counted += targets.size(0);
  }
  EXPECT_EQ(counted, tokens);
  EXPECT_NEAR(loss.sum.item<double>(), expected, 1e-4 * expected);
}

TEST_F(TranslationTaskTest, AnEvaluationIsTheLossOfAllTargetsAndBleu) {
  const TranslationJob job(recipe());
  const auto task = job.make_task(torch::kCPU);
  const Scores scores = task->evaluate();
  const data::ParallelCorpus corpus = data::load_parallel(data::parallel_request(job.recipe()));
  std::vector<std::vector<Token>> sources, targets;
  const auto line = [](const data::TokenLines& lines, int64_t number) {
    const data::Block block = lines.line(number);
    std::vector<Token> tokens(static_cast<size_t>(block.size()));
    lines.text().file->copy(block.begin, block.size(), tokens.data());
    return tokens;
  };
  for (int64_t i = 0; i < corpus.valid.size(); ++i) {
    sources.push_back(line(corpus.valid.source, i));
    targets.push_back(line(corpus.valid.target, i));
  }
  const auto model = std::dynamic_pointer_cast<models::TranslationModel>(task->model().shared_from_this());
  models::TranslationDecoder decoder(model);
  double sum = 0.0, tokens = 0.0;
  for (const std::vector<float>& pair : infer::score_pairs(decoder, sources, targets))
    for (const float p : pair) {
      sum -= static_cast<double>(p);
      tokens += 1.0;
    }
  EXPECT_NEAR(value_of(scores, "loss"), sum / tokens, 1e-5);
}

// BLEU is that of the written references, whatever of them the tokens lost.
TEST_F(TranslationTaskTest, BleuComparesWithWhatWasWritten) {
  const auto bleu_of = [&](int64_t vocabulary) {
    Recipe one = recipe();
    std::get<TranslationInput>(one.input.input).vocabulary = vocabulary;
    one.train.updates = 200;
    one.train.evaluate = "0";
    return value_of(train(one, folder_.path() / std::to_string(vocabulary)).state.best, "BLEU");
  };
  // With nearly all words unknown, <unk> for <unk> is learnt at once, and is no translation.
  EXPECT_GT(bleu_of(0), 40.0);
  EXPECT_LT(bleu_of(6), 20.0);
}

// Text is compared with text: what was cut into words before is joined in the references, too.
TEST_F(TranslationTaskTest, ReferencesAreTextAgain) {
  const auto reference = [&](const char* written, WordCutting tokenize) {
    write_file(folder_ / "pairs/valid.en", "a b c\n");
    write_file(folder_ / "pairs/valid.de", std::string(written) + "\n");
    Recipe one = recipe();
    auto& input = std::get<TranslationInput>(one.input.input);
    input.tokenize = tokenize;
    input.detokenize = WordCutting::moses;
    const TranslationJob job(one);
    const auto task = job.make_task(torch::kCPU);
    task->evaluate();
    const std::string text = task->sample();
    return text.substr(text.rfind("= "));
  };
  EXPECT_EQ(reference("p q , r .", WordCutting::none), "= p q, r.");
  EXPECT_EQ(reference("p q, r.", WordCutting::moses), "= p q, r.");
  EXPECT_EQ(reference("p q , r.", WordCutting::moses), "= p q , r.") << "as it was written";
}

TEST_F(TranslationTaskTest, TheBestModelIsThatOfTheChosenScore) {
  Recipe one = recipe();
  one.train.translation.select = TranslationScore::bleu;
  const TranslationJob job(one);
  const Scores scores = job.make_task(torch::kCPU)->evaluate();
  EXPECT_EQ(scores.metrics.front().name, "BLEU");
  EXPECT_TRUE(scores.higher_is_better);
  one.train.translation = {TranslationScore::loss, 0, 1};
  const TranslationJob silent(one);
  const auto task = silent.make_task(torch::kCPU);
  EXPECT_EQ(task->evaluate().metrics.size(), 2u) << "loss and perplexity alone";
  EXPECT_EQ(task->sample(), "");
}

// A time limit takes from both: fewer pairs are read, and fewer are translated.
TEST_F(TranslationTaskTest, EvaluationsKeepToTheirLimits) {
  Recipe one = recipe();
  one.train.translation.sentences = 20;
  const TranslationJob job(one);
  const auto task = job.make_task(torch::kCPU);
  const EvaluationSizes all = task->evaluation_sizes();
  const data::ParallelCorpus corpus = data::load_parallel(data::parallel_request(job.recipe()));
  const int64_t tokens = corpus.valid.target.text().size();
  EXPECT_EQ(all.valid, tokens + 4 * 5 * tokens / 2) << "half of the pairs are translated, with a beam of 5";
  EXPECT_EQ(all.test, 21 * (corpus.tests[0].target.text().size() + corpus.tests[1].target.text().size()));

  const Scores whole = task->evaluate();
  task->limit_evaluations({all.valid, all.test});
  EXPECT_EQ(value_of(task->evaluate(), "loss"), value_of(whole, "loss")) << "a limit that takes nothing";
  task->limit_evaluations({all.valid / 10, all.test / 10});
  EXPECT_NE(value_of(task->evaluate(), "loss"), value_of(whole, "loss"));
  Report report;
  EXPECT_EQ(task->test(report).metrics.size(), 6u);
  task->limit_evaluations({1, 1});
  EXPECT_TRUE(std::isfinite(value_of(task->evaluate(), "loss"))) << "one pair at least";
}

TEST_F(TranslationTaskTest, EveryTestSetHasItsScores) {
  const TranslationJob job(recipe());
  Report report;
  const Scores scores = job.make_task(torch::kCPU)->test(report);
  std::vector<std::string> names;
  for (const Metric& metric : scores.metrics) names.push_back(metric.name);
  EXPECT_EQ(names, (std::vector<std::string>{"BLEU test_one", "loss test_one", "perplexity test_one",
                                             "BLEU test_two", "loss test_two", "perplexity test_two"}));
  EXPECT_TRUE(scores.higher_is_better);

  std::filesystem::remove(folder_ / "pairs/test_two.en");
  std::filesystem::remove(folder_ / "pairs/test_two.de");
  const TranslationJob single(recipe());
  EXPECT_EQ(single.make_task(torch::kCPU)->test(report).metrics.front().name, "BLEU");
}

TEST_F(TranslationTaskTest, AModelFileBringsTokenizersAndWeightsBack) {
  for (const bool joint : {true, false}) {
    Recipe one = recipe();
    std::get<TranslationInput>(one.input.input).joint = joint;
    std::get<TranslatorOptions>(one.model.model).share_embeddings = joint;
    const TranslationJob job(one);
    const auto task = job.make_task(torch::kCPU);
    const std::filesystem::path path = folder_ / "model.safetensors";
    task->save(path, weights_of(task->model()));
    const SavedTranslationModel saved = load_translation_model(path);
    EXPECT_EQ(saved.tokenizers.source->size(), joint ? 20 : 12) << "8 words of each language and 4 symbols";
    EXPECT_EQ(saved.tokenizers.source == saved.tokenizers.target, joint);
    EXPECT_EQ(std::get<TranslationInput>(saved.signature.input.input).target_language, "de");
    auto& own = dynamic_cast<models::TranslationModel&>(task->model());
    own.eval();
    saved.model->eval();
    const torch::NoGradGuard guard;
    const torch::Tensor tokens = torch::randint(4, 12, {1, 7}, torch::kInt64);
    EXPECT_TRUE(own.features(tokens, {}, own.encode(tokens))
                    .equal(saved.model->features(tokens, {}, saved.model->encode(tokens))));
    EXPECT_PRED2(contains, error_of([&] { load_language_model(path); }), "not a language model");
    EXPECT_PRED2(contains, error_of([&] { load_model(path); }), "not a classifier");
  }
}

TEST_F(TranslationTaskTest, RecipesThatCannotBe) {
  const auto error = [&](const std::function<void(Recipe&)>& spoil) {
    Recipe one = recipe();
    spoil(one);
    return error_of([&] { make_job(one); });
  };
  const auto input = [](Recipe& one) -> TranslationInput& {
    return std::get<TranslationInput>(one.input.input);
  };
  EXPECT_PRED2(contains, error([&](Recipe& one) { input(one).joint = false; }), "share_embeddings");
  EXPECT_PRED2(contains, error([](Recipe& one) { one.input.input = LanguageInput(); }),
               "input.kind = translation");
  EXPECT_PRED2(contains, error([](Recipe& one) {
                 one.train.translation = {TranslationScore::bleu, 0, 5};
               }),
               "translation.sentences");
  EXPECT_PRED2(contains, error([](Recipe& one) {
                 std::get<TranslatorOptions>(one.model.model).block.max_positions = 5;
               }),
               "positions for 5: set input.max_length=5");
  EXPECT_PRED2(contains, error([](Recipe& one) { one.data.path += "/none"; }), "none");
}

}  // namespace
}  // namespace mega::train
