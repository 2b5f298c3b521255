// Files of earlier versions load, and answer as they did: README.md says what each of them is.
//
// Beside every file stands a JSON file of the same name: what it was asked, and what the version that wrote
// it answered. Only the functions of the first part call the library; the rest compares JSON.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/infer/generation/log_probability.h"
#include "mega/infer/generation/sampler.h"
#include "mega/infer/models/answer.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/session.h"
#include "mega/models/token_predictor.h"
#include "mega/nn/state.h"
#include "mega/text/tokens.h"
#include "mega/train/evaluation/evaluation.h"
#include "mega/train/run.h"
#include "mega/train/saved_model.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Tokens = std::vector<int32_t>;

// ---- what is asked of the library ------------------------------------------------------------------------

constexpr size_t kContinuation = 20;  // tokens that are written after a text

// {"text": ...}, with "second" of a pair; {"grey": [0 .. 255, ...]}; {"values": [...]}.
data::Record to_record(const Json& example) {
  data::Record record;
  record.where = example.dump();
  record.bytes = example.value("text", "");
  record.second = example.value("second", "");
  record.values = example.value("values", std::vector<float>{});
  for (const int grey : example.value("grey", std::vector<int>{}))
    record.bytes += static_cast<char>(static_cast<unsigned char>(grey));
  return record;
}

// What a classifier or matcher says of each example.
Json classify_by_libtorch(const fs::path& model, const Json& examples) {
  const train::SavedModel saved = train::load_model(model);
  const data::Encoder encoder(saved.signature, cls_token(*sequence_options(saved.options)));
  std::vector<data::Record> records;
  for (const Json& example : examples) records.push_back(to_record(example));
  const data::Part part(std::move(records));
  const int documents = examples.at(0).contains("second") ? 2 : 1;
  Json answers = Json::array();
  for (const train::Answer& answer : train::evaluate(*saved.model, part, encoder, documents, {}).answers)
    answers.push_back(answer.outputs);
  return {{"classes", saved.signature.classes}, {"answers", answers}};
}

Json classify_by_engine(const fs::path& path, const Json& examples) {
  const auto model = infer::Classifier::open(path);
  infer::ThreadPool pool(1);
  infer::Workspace work;
  Json answers = Json::array();
  for (const Json& example : examples)
    answers.push_back(infer::answer(*model, model->encoder(), to_record(example), {pool, work}));
  return {{"classes", model->signature().classes}, {"answers", answers}};
}

// The likeliest text that comes next, token by token.
Json go_on(infer::Predictor& predictor, const Tokenizer& tokenizer) {
  infer::SamplerOptions likeliest;
  likeliest.temperature = 0.0;
  infer::Sampler sampler(likeliest);
  Tokens tokens;
  std::vector<double> log_probabilities;
  while (tokens.size() < kContinuation) {
    const std::span<const float> logits = predictor.logits();
    tokens.push_back(sampler.draw(logits, tokens));
    log_probabilities.push_back(infer::log_probability(logits, tokens.back()));
    predictor.feed({&tokens.back(), 1});
  }
  return {{"tokens", tokens}, {"text", tokenizer.decode(tokens)}, {"log_probabilities", log_probabilities}};
}

// How likely each token of a text is after all before it, and how the text goes on.
Json read_text(infer::Predictor& predictor, const Tokenizer& tokenizer, const std::string& text) {
  const Tokens tokens = tokenizer.encode(text);
  std::vector<double> log_probabilities;
  int32_t last = kEnd;
  for (const int32_t token : tokens) {
    predictor.feed({&last, 1});
    log_probabilities.push_back(infer::log_probability(predictor.logits(), token));
    last = token;
  }
  predictor.feed({&last, 1});
  return {{"tokens", tokens},
          {"decoded", tokenizer.decode(tokens)},
          {"log_probabilities", log_probabilities},
          {"continuation", go_on(predictor, tokenizer)}};
}

Json read_by_libtorch(const fs::path& model, const Json& text) {
  const train::SavedLanguageModel saved = train::load_language_model(model);
  models::TokenPredictor predictor(saved.model, saved.options.kind().reading());
  return read_text(predictor, *saved.tokenizer, text);
}

Json read_by_engine(const fs::path& path, const Json& text) {
  const auto model = infer::LanguageModel::open(path);
  infer::Session session(model, std::make_shared<infer::ThreadPool>(1));
  return read_text(session, model->tokenizer(), text);
}

// How a text goes on whose state was saved.
Json go_on_by_engine(const fs::path& path, const fs::path& state) {
  const auto model = infer::LanguageModel::open(path);
  infer::Session session = infer::Session::load(state, model, std::make_shared<infer::ThreadPool>(1));
  const int64_t position = session.position();
  return {{"position", position}, {"continuation", go_on(session, model->tokenizer())}};
}

// How likely libtorch finds a given continuation, but for its first token: the state does not hold what was
// expected there.
Json go_on_by_libtorch(const fs::path& model, const fs::path& path, const Tokens& tokens) {
  const train::SavedLanguageModel saved = train::load_language_model(model);
  saved.model->eval();
  const torch::NoGradGuard guard;
  nn::State state = nn::load_state(path);
  const int64_t position = state.blocks.at(0).attention.position;
  const torch::Tensor read = torch::tensor(std::vector<int64_t>(tokens.begin(), tokens.end())).unsqueeze(0);
  const torch::Tensor features = saved.model->features(read, {}, &state).squeeze(0);
  const torch::Tensor all = saved.model->log_probabilities(features);
  std::vector<double> log_probabilities;
  for (size_t i = 1; i < tokens.size(); ++i)
    log_probabilities.push_back(all[static_cast<int64_t>(i) - 1][tokens[i]].item<double>());
  return {{"position", position}, {"log_probabilities", log_probabilities}};
}

// Goes on with a run, whose data has another place now, to its end.
void resume(const fs::path& run, const fs::path& data) {
  train::RunRequest request;
  request.recipe = train::load_run_recipe(run);
  request.recipe.data.path = data;
  request.folder = run;
  request.resume = true;
  train::run(request);
}

// ---- the files -------------------------------------------------------------------------------------------

enum class Reads { examples, text };
enum class By { libtorch, engine, both };

// Different instruction sets round differently.
constexpr double kExact = 1e-5;
// Weights, keys or values of fewer bits.
constexpr double kShort = 1e-4;

struct Model {
  const char* version;
  const char* name;
  Reads reads;
  By by = By::both;
  double tolerance = kExact;
};

constexpr Model kModels[] = {
    {"0.1", "classifier-bytes", Reads::examples},
    {"0.1", "classifier-bytes-bf16", Reads::examples, By::both, kShort},
    {"0.1", "classifier-bytes-int8", Reads::examples, By::both, kShort},
    {"0.1", "classifier-listops", Reads::examples},
    {"0.1", "classifier-series", Reads::examples},
    {"0.1", "classifier-pixels", Reads::examples},
    {"0.1", "classifier-sound", Reads::examples},
    {"0.1", "matcher-bytes", Reads::examples},
    {"0.1", "transformer-bytes", Reads::examples, By::libtorch},
    {"0.1", "transformer-pairs", Reads::examples, By::libtorch},
    {"0.1", "language-bytes", Reads::text},
    {"0.1", "language-bytes-bf16", Reads::text, By::both, kShort},
    {"0.1", "language-bytes-int8", Reads::text, By::both, kShort},
    {"0.1", "language-characters", Reads::text},
    {"0.1", "language-words", Reads::text},
    {"0.1", "language-words-int8", Reads::text, By::both, kShort},
    {"0.1", "language-words-projections", Reads::text},
    {"0.1", "language-unigram", Reads::text},
    {"0.1", "language-bpe", Reads::text},
    {"0.1", "transformer-language", Reads::text, By::libtorch},
    {"0.1", "transformer-language-alibi", Reads::text, By::libtorch},
};

struct State {
  const char* version;
  const char* name;
  By by = By::both;
  double tolerance = kExact;
};

constexpr State kStates[] = {
    {"0.1", "language-bytes-f32"},
    {"0.1", "language-bytes-bf16", By::engine, kShort},
    {"0.1", "language-bytes-int8-f32", By::engine, kShort},
    {"0.1", "language-characters-f32"},
    {"0.1", "language-bytes-libtorch", By::libtorch},
};

struct StoppedRun {
  const char* version;
  const char* name;
};

constexpr StoppedRun kRuns[] = {
    {"0.1", "classifier"},
    {"0.1", "language"},
};

const fs::path kFiles = MEGA_COMPATIBILITY_DIR;

template <class Case>
fs::path file_of(const Case& one, const std::string& folder, const std::string& ending) {
  return kFiles / one.version / folder / (one.name + ending);
}

Json read_json(const fs::path& path) { return Json::parse(read_file(path)); }

// Numbers with a point may differ by the tolerance, or by so much of themselves if they are above 1; all else
// is the same.
void expect_same(const Json& expected, const Json& actual, double tolerance, const std::string& where) {
  if (expected.is_number_float() && actual.is_number_float()) {
    const auto e = expected.get<double>(), a = actual.get<double>();
    EXPECT_LE(std::abs(a - e), tolerance * std::max(1.0, std::abs(e)))
        << where << ": " << a << " instead of " << e;
  } else if (expected.is_array() && actual.is_array()) {
    ASSERT_EQ(expected.size(), actual.size()) << where;
    for (size_t i = 0; i < expected.size(); ++i)
      expect_same(expected[i], actual[i], tolerance, where + "[" + std::to_string(i) + "]");
  } else if (expected.is_object() && actual.is_object()) {
    ASSERT_EQ(expected.size(), actual.size()) << where << ": " << actual.dump();
    for (const auto& [key, value] : expected.items()) {
      ASSERT_TRUE(actual.contains(key)) << where << ": no " << key;
      expect_same(value, actual.at(key), tolerance, where + "." + key);
    }
  } else {
    EXPECT_EQ(expected.dump(), actual.dump()) << where;
  }
}

// What each way of running a file gives, against what it gave. A way that the case does not name must not
// have been written down, and the other way round.
template <class Case>
void expect_answers(const Case& one, const Json& expected, const std::function<Json()>& by_libtorch,
                    const std::function<Json()>& by_engine) {
  ASSERT_EQ(expected.contains("libtorch"), one.by != By::engine);
  ASSERT_EQ(expected.contains("engine"), one.by != By::libtorch);
  if (one.by != By::engine) expect_same(expected.at("libtorch"), by_libtorch(), one.tolerance, "libtorch");
  if (one.by != By::libtorch) expect_same(expected.at("engine"), by_engine(), one.tolerance, "engine");
}

// ---- the tests -------------------------------------------------------------------------------------------

template <class Case>
std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = std::string(info.param.version) + "_" + info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

class ModelFiles : public ::testing::TestWithParam<Model> {};

TEST_P(ModelFiles, AnswerAsTheyDid) {
  const Model& model = GetParam();
  const fs::path path = file_of(model, "models", ".safetensors");
  const Json expected = read_json(file_of(model, "models", ".json"));
  if (model.reads == Reads::examples) {
    const Json& examples = expected.at("examples");
    ASSERT_FALSE(examples.empty());
    expect_answers(
        model, expected, [&] { return classify_by_libtorch(path, examples); },
        [&] { return classify_by_engine(path, examples); });
  } else {
    const Json& text = expected.at("text");
    expect_answers(
        model, expected, [&] { return read_by_libtorch(path, text); },
        [&] { return read_by_engine(path, text); });
  }
}

INSTANTIATE_TEST_SUITE_P(Compatibility, ModelFiles, ::testing::ValuesIn(kModels), test_name<Model>);

class StateFiles : public ::testing::TestWithParam<State> {};

TEST_P(StateFiles, GoOnAsTheyDid) {
  const State& state = GetParam();
  const fs::path path = file_of(state, "states", ".safetensors");
  const Json expected = read_json(file_of(state, "states", ".json"));
  const fs::path model = kFiles / state.version / "models" / expected.at("model").get<std::string>();
  expect_answers(
      state, expected, [&] { return go_on_by_libtorch(model, path, expected.at("tokens").get<Tokens>()); },
      [&] { return go_on_by_engine(model, path); });
}

INSTANTIATE_TEST_SUITE_P(Compatibility, StateFiles, ::testing::ValuesIn(kStates), test_name<State>);

// The metrics of each update that a run wrote down.
Json curve_of(const fs::path& run) {
  Json curve = Json::array();
  for (const std::string& line : split(read_file(run / "metrics.jsonl"), '\n')) {
    if (line.empty()) continue;
    const Json metrics = Json::parse(line);
    if (curve.empty() || curve.back().at("update") != metrics.at("update"))
      curve.push_back({{"update", metrics.at("update")}});
    for (const char* name : {"loss", "valid loss"})
      if (metrics.contains(name)) curve.back()[name] = metrics.at(name);
    if (metrics.contains("valid_loss"))
      curve.back()["valid loss"] = metrics.at("valid_loss");  // as it is now
  }
  return curve;
}

class Checkpoints : public ::testing::TestWithParam<StoppedRun> {
 protected:
  void SetUp() override { ::setenv("MEGA_CACHE", (folder_ / "cache").c_str(), 1); }

  testing::ScratchFolder folder_;
};

TEST_P(Checkpoints, GoOnAsIfNeverStopped) {
  const StoppedRun& stopped = GetParam();
  const Json expected = read_json(file_of(stopped, "runs", ".json"));
  const fs::path run = folder_ / stopped.name;
  fs::copy(file_of(stopped, "runs", ""), run, fs::copy_options::recursive);
  const std::string before = read_file(run / "metrics.jsonl");
  ASSERT_EQ(curve_of(run).back().at("update"), expected.at("stopped"));

  resume(run, kFiles / stopped.version / expected.at("data").get<std::string>());
  // One that cannot use its checkpoint begins anew, and comes to the same curve.
  EXPECT_TRUE(read_file(run / "metrics.jsonl").starts_with(before)) << "the run was not resumed";
  expect_same(expected.at("curve"), curve_of(run), kExact, "curve");
  const Json result = read_json(run / "result.json");
  expect_same(expected.at("test loss"), result.at("test").at("loss"), kExact, "test loss");
}

INSTANTIATE_TEST_SUITE_P(Compatibility, Checkpoints, ::testing::ValuesIn(kRuns), test_name<StoppedRun>);

// A file that nobody looks at must not be there.
TEST(Compatibility, EveryFileIsTested) {
  std::set<fs::path> known, found;
  for (const Model& model : kModels)
    for (const char* ending : {".safetensors", ".json"}) known.insert(file_of(model, "models", ending));
  for (const State& state : kStates)
    for (const char* ending : {".safetensors", ".json"}) known.insert(file_of(state, "states", ending));
  for (const StoppedRun& run : kRuns)
    for (const char* ending : {"", ".json"}) known.insert(file_of(run, "runs", ending));

  for (const auto& version : fs::directory_iterator(kFiles)) {
    if (!version.is_directory()) continue;
    for (const auto& folder : fs::directory_iterator(version)) {
      if (folder.path().filename() == "data") continue;  // what models were trained on
      ASSERT_TRUE(folder.is_directory()) << folder.path();
      for (const auto& file : fs::directory_iterator(folder)) found.insert(file.path());
    }
  }
  for (const fs::path& path : found) EXPECT_TRUE(known.contains(path)) << path << " is in no table here";
  for (const fs::path& path : known) EXPECT_TRUE(found.contains(path)) << path << " is not there";
}

}  // namespace
}  // namespace mega
