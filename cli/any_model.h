// A trained model behind one interface, independent of the backend: the engine runs all Mega models; the
// Transformer baselines of the paper need libtorch, which only the program `mega` links.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/data/corpus/token_file.h"
#include "mega/data/record.h"
#include "mega/infer/generation/generate_many.h"
#include "mega/infer/models/score_text.h"
#include "mega/infer/session.h"
#include "mega/infer/translation/step_decoder.h"
#include "mega/text/tokenizer.h"

namespace mega::cli {

class AnyLanguageModel : public infer::PredictorSource {
 public:
  virtual const Tokenizer& tokenizer() const = 0;
  // A predictor that goes on from a saved state. Error if the model has none, or the file is another's.
  virtual std::unique_ptr<infer::Predictor> load(const std::string& state) const;
  // As infer::score_text.
  virtual infer::ScoreResult score(const data::TokenView& text, const infer::Scored& scored) = 0;
  // log p of the tokens of each text, as score gives them: side by side where the backend can.
  virtual std::vector<std::vector<float>> score_many(std::span<const data::TokenView> texts);
};

class AnyClassifier {
 public:
  virtual ~AnyClassifier() = default;

  virtual const Signature& signature() const = 0;
  virtual int documents() const = 0;  // 1, or 2 for models that compare pairs
  // infer::answer of each record.
  virtual std::vector<std::vector<float>> answers(std::vector<data::Record> records) = 0;
  // How much each position of a record adds to the score of a class (mega/models/saliency.h). Only models
  // that were opened with OpenRequest::gradients know.
  virtual std::vector<float> saliency(const data::Record& record, int64_t label);
};

// A translator of any backend, and what its file says of the text.
struct AnyTranslator {
  std::shared_ptr<infer::StepDecoder> decoder;
  Signature signature;
  int64_t source_types = 0, target_types = 0;
};

// Opens models that the engine cannot run.
class OtherModels {
 public:
  virtual ~OtherModels() = default;
  virtual std::unique_ptr<AnyLanguageModel> open_language_model(const std::filesystem::path& path,
                                                                int threads) const = 0;
  virtual std::unique_ptr<AnyClassifier> open_classifier(const std::filesystem::path& path,
                                                         int threads) const = 0;
  virtual AnyTranslator open_translator(const std::filesystem::path& path, int threads) const = 0;
};

// threads = 0: all cores. `model` is a file or a run directory. If the model is of the wrong kind, the Error
// names the commands that accept it; if this program cannot run it, the program that can.
struct OpenRequest {
  std::string model;
  int threads = 0;
  const OtherModels* others = nullptr;
  bool gradients = false;  // of a classifier: libtorch runs it, whatever its kind
};

// For Mega models only: the cache type of the open chunk, and a session state file to resume from; "": none.
struct SessionRequest {
  infer::CacheType cache = infer::CacheType::f32;
  std::string state;
};

std::unique_ptr<AnyLanguageModel> open_language_model(const OpenRequest& request,
                                                      const SessionRequest& session = {});
std::unique_ptr<AnyClassifier> open_classifier(const OpenRequest& request);

// request.model, or with `others` an ensemble: all must read and write the same tokens.
AnyTranslator open_translator(const OpenRequest& request, std::span<const std::string> others = {});

}  // namespace mega::cli
