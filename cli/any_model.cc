#include "cli/any_model.h"

#include "cli/model_argument.h"
#include "mega/base/error.h"
#include "mega/infer/models/answer.h"
#include "mega/infer/models/open_model.h"
#include "mega/infer/models/side_by_side.h"
#include "mega/infer/models/translator_decoder.h"
#include "mega/infer/translation/ensemble.h"

namespace mega::cli {
namespace {

using infer::Session;
using infer::ThreadPool;

class EngineLanguageModel : public AnyLanguageModel {
 public:
  EngineLanguageModel(std::shared_ptr<const infer::LanguageModel> model, std::shared_ptr<ThreadPool> pool,
                      const SessionRequest& request)
      : model_(std::move(model)),
        pool_(std::move(pool)),
        sessions_(request.state.empty() ? Session(model_, pool_, request.cache)
                                        : Session::load(request.state, model_, pool_)) {}

  std::unique_ptr<infer::Predictor> make() const override { return sessions_.make(); }
  void feed(std::span<infer::Predictor* const> predictors,
            std::span<const std::span<const int32_t>> tokens) const override {
    sessions_.feed(predictors, tokens);
  }
  const Tokenizer& tokenizer() const override { return model_->tokenizer(); }
  std::unique_ptr<infer::Predictor> load(const std::string& state) const override {
    return std::make_unique<Session>(Session::load(state, model_, pool_));
  }
  infer::ScoreResult score(const data::TokenView& text, const infer::Scored& scored) override {
    Session session(model_, pool_);
    return infer::score_text(session, text, scored);
  }
  std::vector<std::vector<float>> score_many(std::span<const data::TokenView> texts) override {
    return infer::score_texts(model_, pool_, texts);
  }

 private:
  std::shared_ptr<const infer::LanguageModel> model_;
  std::shared_ptr<ThreadPool> pool_;
  infer::SessionSource sessions_;
};

class EngineClassifier : public AnyClassifier {
 public:
  EngineClassifier(std::shared_ptr<const infer::SequenceModel> model, int threads)
      : model_(std::move(model)), pool_(threads), many_(*model_, pool_) {}

  const Signature& signature() const override { return model_->signature(); }
  int documents() const override { return static_cast<int>(model_->documents()); }
  std::vector<std::vector<float>> answers(std::vector<data::Record> records) override {
    std::vector<std::vector<float>> answers = many_.outputs(records);
    for (std::vector<float>& answer : answers) answer = infer::to_answer(answer, signature());
    return answers;
  }

 private:
  std::shared_ptr<const infer::SequenceModel> model_;
  ThreadPool pool_;
  infer::SideBySide many_;
};

const OtherModels& others_for(const OpenRequest& request) {
  require(request.others != nullptr || !request.gradients,
          "--saliency needs gradients: only the program `mega` has them (from libtorch)");
  require(request.others != nullptr, request.model,
          " is a baseline: only the program `mega` can run it (it needs libtorch)");
  return *request.others;
}

AnyTranslator open_one_translator(const OpenRequest& request, const std::shared_ptr<ThreadPool>& pool) {
  const std::filesystem::path path = model_path(request.model);
  ModelFile file = ModelFile::open(path);
  const TranslationOptions* options = translation_options(file.options);
  require(options != nullptr, request.model, " is not a translator but a model of kind ",
          file.options.kind_name(), ": use `",
          token_options(file.options) != nullptr ? "generate" : "predict", "`");
  if (!file.options.kind().runs_in_engine())
    return others_for(request).open_translator(path, request.threads);
  require(has_signature(file.tensors), path.string(),
          " has no description of its text: it was not written by `mega train`");
  AnyTranslator opened{nullptr, read_signature(file.tensors, path.string()), options->source_types(),
                       options->vocabulary};
  opened.decoder = std::make_shared<infer::TranslatorDecoder>(
      std::make_shared<const infer::Translator>(std::move(file), path.string()), pool);
  return opened;
}

// Whether models read and write the same tokens.
bool same_tokens(const Signature& a, const Signature& b) {
  const TokenizerOptions *of_a = tokenizer_options(a.input), *of_b = tokenizer_options(b.input);
  return of_a != nullptr && of_b != nullptr && of_a->units == of_b->units && a.vocabulary == b.vocabulary &&
         a.target_vocabulary == b.target_vocabulary;
}

}  // namespace

std::unique_ptr<infer::Predictor> AnyLanguageModel::load(const std::string&) const {
  fail("only Mega models have a state to load");
}

std::vector<std::vector<float>> AnyLanguageModel::score_many(std::span<const data::TokenView> texts) {
  std::vector<std::vector<float>> all(texts.size());
  for (size_t i = 0; i < texts.size(); ++i)
    score(texts[i], [&](int64_t, std::span<const float> some) {
      all[i].insert(all[i].end(), some.begin(), some.end());
    });
  return all;
}

std::unique_ptr<AnyLanguageModel> open_language_model(const OpenRequest& request,
                                                      const SessionRequest& session) {
  const std::filesystem::path path = model_path(request.model);
  ModelFile file = ModelFile::open(path);
  require(predictor_options(file.options) == nullptr, request.model,
          " is a classifier, not a language model: use `predict`");
  require(translation_options(file.options) == nullptr, request.model,
          " is a translator, not a language model: use `translate`");
  if (!file.options.kind().runs_in_engine()) {
    require(session.cache == infer::CacheType::f32 && session.state.empty(), request.model,
            " is a model of kind " + file.options.kind_name() +
                ": --load-state and --cache are for Mega models only");
    return others_for(request).open_language_model(path, request.threads);
  }
  return std::make_unique<EngineLanguageModel>(
      std::make_shared<const infer::LanguageModel>(std::move(file), path.string()),
      std::make_shared<ThreadPool>(request.threads), session);
}

std::vector<float> AnyClassifier::saliency(const data::Record&, int64_t) {
  fail("this classifier was opened without gradients");
}

std::unique_ptr<AnyClassifier> open_classifier(const OpenRequest& request) {
  const std::filesystem::path path = model_path(request.model);
  ModelFile file = ModelFile::open(path);
  require(token_options(file.options) == nullptr, request.model,
          " is a language model, not a classifier: use `generate` or `score`");
  require(translation_options(file.options) == nullptr, request.model,
          " is a translator, not a classifier: use `translate`");
  if (!file.options.kind().runs_in_engine() || request.gradients)
    return others_for(request).open_classifier(path, request.threads);
  require(has_signature(file.tensors), path.string(),
          " has no description of its input encoding: it was not written by `mega train`");
  return std::make_unique<EngineClassifier>(infer::open_model(std::move(file), path.string()),
                                            request.threads);
}

AnyTranslator open_translator(const OpenRequest& request, std::span<const std::string> others) {
  const auto pool = std::make_shared<ThreadPool>(request.threads);
  AnyTranslator first = open_one_translator(request, pool);
  if (others.empty()) return first;
  std::vector<std::shared_ptr<infer::StepDecoder>> decoders = {first.decoder};
  for (const std::string& model : others) {
    OpenRequest another = request;
    another.model = model;
    const AnyTranslator opened = open_one_translator(another, pool);
    require(same_tokens(first.signature, opened.signature), request.model, " and ", model,
            " have different vocabularies: only models of the same can translate together");
    decoders.push_back(opened.decoder);
  }
  first.decoder = std::make_shared<infer::Ensemble>(std::move(decoders));
  return first;
}

}  // namespace mega::cli
