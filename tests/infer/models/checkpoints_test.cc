// Models of the released programs in the engine: what they compute is what those programs computed.
#include <gtest/gtest.h>

#include <memory>

#include "mega/infer/generation/log_probability.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/models/open_model.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/infer/session.h"
#include "mega/infer/translation/beam_search.h"
#include "mega/infer/translation/score_pairs.h"
#include "tests/checkpoints/imported.h"

namespace mega::testing {
namespace {

class EngineRuns : public ImportedCheckpoint {
 protected:
  void check_classifier() {
    const auto model = infer::Classifier::open(path_);
    infer::Workspace work;
    const Rows<float> logits = expected<float>("out.logits");
    for (int64_t i = 0; i < logits.count(); ++i) {
      std::vector<std::vector<Token>> tokens;
      std::vector<Rows<float>> values;
      std::vector<infer::SequenceView> documents;
      for (const std::string suffix : {"", "1"}) {
        if (!is_expected("in.tokens" + suffix)) continue;
        const int64_t length = expected<int64_t>("in.lengths" + suffix).values[static_cast<size_t>(i)];
        const auto row = expected<int64_t>("in.tokens" + suffix);
        tokens.emplace_back(row[i].begin(), row[i].begin() + length);
      }
      if (is_huggingface()) tokens.push_back(unmasked(i));
      for (const std::vector<Token>& document : tokens)
        documents.push_back({document, {}, std::ssize(document)});
      for (const char* name : {"in.values", "in.samples"})
        if (is_expected(name)) values.push_back(expected<float>(name));
      for (const Rows<float>& rows : values) documents.push_back({{}, rows[i], std::ssize(rows[i])});
      expect_close(logits[i], model->outputs(documents, {*pool_, work}), "logits");
    }
  }

  // The file has colours before rows; the engine reads the colours of a pixel together.
  void check_pictures() {
    const auto model = infer::open_model(path_);
    infer::Workspace work;
    const Rows<float> pictures = expected<float>("in.image"), logits = expected<float>("out.logits");
    const auto channels = static_cast<size_t>(pictures.shape.at(1));
    for (int64_t i = 0; i < logits.count(); ++i) {
      const size_t area = pictures[i].size() / channels;
      std::vector<float> pixels(pictures[i].size());
      for (size_t at = 0; at < pixels.size(); ++at)
        pixels[at] = pictures[i][at % channels * area + at / channels];
      const infer::SequenceView picture{{}, pixels, static_cast<int64_t>(area)};
      expect_close(logits[i], model->outputs({&picture, 1}, {*pool_, work}), "logits");
    }
  }

  // log p of every target of each text, and of every token at its end.
  void check_language_model() {
    const auto model = infer::LanguageModel::open(path_);
    const auto sources = expected<int64_t>("in.source"), targets = expected<int64_t>("in.target");
    const auto scores = expected<float>("out.token_lprobs"), all = expected<float>("out.lprobs");
    for (int64_t i = 0; i < sources.count(); ++i) {
      infer::Session session(model, pool_);
      const std::vector<Token> source = without_padding(sources[i]);
      std::vector<Token> target(targets[i].begin(), targets[i].end());
      target.resize(source.size());
      std::vector<float> actual(source.size());
      session.score(source, target, actual);
      expect_close(scores[i].first(source.size()), actual, "log p of the targets");
      const auto types = static_cast<size_t>(all.shape.at(2));
      expect_close(all[i].subspan((source.size() - 1) * types, types), log_probabilities(session), "log p");
    }
  }

  // Causal or masked: log p of every token at each position, and of causal ones what a session says.
  void check_huggingface() {
    const auto model = infer::LanguageModel::open(path_);
    infer::Workspace work;
    const infer::Run run{*pool_, work};
    const auto logits = expected<float>("out.logits");
    const auto types = static_cast<size_t>(logits.shape.at(2));
    for (int64_t i = 0; i < logits.count(); ++i) {
      const std::vector<Token> tokens = unmasked(i);
      const auto length = std::ssize(tokens);
      const infer::Segment segment{nullptr, 0, length};
      const kernels::Rows features = model->read(tokens, {&segment, 1}, run);
      std::vector<float> actual(tokens.size() * types);
      model->output().logits({features.data, features.stride}, {actual.data(), static_cast<int64_t>(types)},
                             length, run);
      expect_close(log_softmax(logits[i].first(actual.size()), types), log_softmax(actual, types), "log p");
      if (model->options().masked) continue;
      infer::Session session(model, pool_);
      const size_t count = tokens.size() - 1;
      std::vector<float> scores(count);
      session.score(std::span(tokens).first(count), std::span(tokens).subspan(1), scores);
      expect_close(expected<float>("out.token_lprobs")[i].first(count), scores, "log p of the next token");
    }
  }

  static std::vector<float> log_probabilities(infer::Session& session) {
    std::vector<float> values(session.logits().begin(), session.logits().end());
    const auto shift = static_cast<float>(infer::log_probability(values, 0) - static_cast<double>(values[0]));
    for (float& value : values) value += shift;
    return values;
  }

  // As the released evaluation: other chunks than in training, and one state for the whole text.
  void check_stream() {
    ModelFile file = ModelFile::open(path_);
    file.options.kind().set_chunk(description().at("stream").at("chunk"));
    const auto model = std::make_shared<const infer::LanguageModel>(std::move(file), "stream");
    infer::Session session(model, pool_);
    const std::vector<Token> source = without_padding(expected<int64_t>("in.stream_source")[0]),
                             target = without_padding(expected<int64_t>("in.stream_target")[0]);
    std::vector<float> actual;
    const size_t segment = description().at("stream").at("segment");
    for (size_t begin = 0; begin < source.size(); begin += segment) {
      const size_t count = std::min(segment, source.size() - begin);
      std::vector<float> part(count);
      session.score(std::span(source).subspan(begin, count), std::span(target).subspan(begin, count), part);
      actual.insert(actual.end(), part.begin(), part.end());
    }
    expect_close(expected<float>("out.stream_token_lprobs").values, actual, "stream");
  }

  void check_translator() {
    infer::TranslatorDecoder decoder(infer::Translator::open(path_), pool_);
    const auto sources = expected<int64_t>("in.source"), targets = expected<int64_t>("in.target");
    const auto scores = expected<float>("out.token_lprobs");
    for (int64_t i = 0; i < sources.count(); ++i) {
      const std::vector<std::vector<Token>> source = {without_padding(sources[i])},
                                            target = {without_padding(targets[i])};
      const auto actual = infer::score_pairs(decoder, source, target);
      expect_close(scores[i].first(target[0].size()), actual.at(0), "log p of the targets");
    }
    for (const nlohmann::json& search : description().at("beam_search"))
      check_search(decoder, search, without_padding(sources[search.at("sentence").get<int64_t>()]));
  }

  // All hypotheses of the released search, with their scores.
  static void check_search(infer::StepDecoder& decoder, const nlohmann::json& search,
                           const std::vector<Token>& source) {
    infer::SearchOptions options;
    options.beam = options.nbest = search.at("beam");
    options.length_penalty = search.at("lenpen");
    options.stop = infer::StopRule::released;
    options.max_length = search.at("max_length");
    const infer::SearchSentence sentence{source, {}, 0};
    const infer::NBest found = infer::beam_search(decoder, {&sentence, 1}, options).at(0);
    const nlohmann::json& hypotheses = search.at("hypotheses");
    ASSERT_EQ(found.size(), hypotheses.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const nlohmann::json& hypothesis = hypotheses.at(i);
      EXPECT_EQ(found[i].tokens, hypothesis.at("tokens").get<std::vector<Token>>());
      EXPECT_NEAR(found[i].score, hypothesis.at("score").get<double>(), 1e-5 * std::abs(found[i].score));
      expect_close(hypothesis.at("positional_scores").get<std::vector<float>>(), found[i].log_probabilities,
                   "positions");
    }
  }

  std::shared_ptr<infer::ThreadPool> pool_ = std::make_shared<infer::ThreadPool>(1);
};

TEST_P(EngineRuns, AsReleased) {
  if (!model_.options.kind().runs_in_engine()) GTEST_SKIP() << "the engine does not run this kind";
  switch (task()) {
    case ModelTask::sequence:
      return check_classifier();
    case ModelTask::language:
      if (is_huggingface()) return check_huggingface();
      check_language_model();
      return check_stream();
    case ModelTask::translation:
      return check_translator();
    case ModelTask::image:
      return check_pictures();
  }
  FAIL() << "no such task";
}

INSTANTIATE_TEST_SUITE_P(Folders, EngineRuns, ::testing::ValuesIn(importable_cases()),
                         [](const auto& one) { return test_name(one.param.name()); });

// Files that are odd, but models: the same outputs as the one they were made from.
TEST(EngineRunsOddFiles, AsReleased) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "model.safetensors";
  infer::ThreadPool pool(1);
  infer::Workspace work;
  const CheckpointCase listops = checkpoint_case("lra-listops");
  const Safetensors expected = Safetensors::open(listops.folder / "expected.safetensors");
  const Rows<float> logits(expected, "out.logits");
  const Rows<int64_t> tokens(expected, "in.tokens"), lengths(expected, "in.lengths");
  int files = 0;
  for (const HostileFile& file : hostile_files()) {
    if (!file.must_load) continue;
    SCOPED_TRACE(file.name());
    const ImportedModel model = import_checkpoint({file.path, "", {}});
    if (model.options.kind().task() != ModelTask::sequence || contains(file.what, "outputs differ")) continue;
    model.write(path);
    const auto engine = infer::Classifier::open(path);
    for (int64_t i = 0; i < logits.count(); ++i) {
      const std::vector<Token> document(tokens[i].begin(), tokens[i].begin() + lengths[i][0]);
      const infer::SequenceView view{document, {}, std::ssize(document)};
      expect_close(logits[i], engine->outputs({&view, 1}, {pool, work}), "logits");
    }
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace mega::testing
