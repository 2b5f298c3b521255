// A trained model as the commands use it, whoever does its arithmetic: the engine runs all Mega models; the
// Transformers that the paper compares with need libtorch, which the program `mega` has.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mega/config/signature.h"
#include "mega/data/corpus/token_file.h"
#include "mega/data/record.h"
#include "mega/infer/generation/generate_many.h"
#include "mega/infer/models/score_text.h"
#include "mega/infer/session.h"
#include "mega/text/tokenizer.h"

namespace mega::cli {

class AnyLanguageModel : public infer::PredictorSource {
 public:
  virtual const Tokenizer& tokenizer() const = 0;
  // As infer::score_text.
  virtual infer::ScoreResult score(const data::TokenView& text, const infer::Scored& scored) = 0;
};

class AnyClassifier {
 public:
  virtual ~AnyClassifier() = default;

  virtual const Signature& signature() const = 0;
  virtual int documents() const = 0;  // 1, or 2 where pairs are compared
  // As infer::answer, one for each.
  virtual std::vector<std::vector<float>> answers(std::vector<data::Record> records) = 0;
};

// Opens models that the engine does not run.
class OtherModels {
 public:
  virtual ~OtherModels() = default;
  virtual std::unique_ptr<AnyLanguageModel> open_language_model(const std::filesystem::path& path,
                                                                int threads) const = 0;
  virtual std::unique_ptr<AnyClassifier> open_classifier(const std::filesystem::path& path,
                                                         int threads) const = 0;
};

// Threads of 0: all cores. `model` is a file or a run directory. Where it is of the other kind, the Error
// names the commands that it is for; where nobody can run it, the program that can.
struct OpenRequest {
  std::string model;
  int threads = 0;
  const OtherModels* others = nullptr;
};

// Only of Mega models: how an open chunk is kept, and the state file of a text to go on with; "": none.
struct SessionRequest {
  infer::CacheType cache = infer::CacheType::f32;
  std::string state;
};

std::unique_ptr<AnyLanguageModel> open_language_model(const OpenRequest& request,
                                                      const SessionRequest& session = {});
std::unique_ptr<AnyClassifier> open_classifier(const OpenRequest& request);

}  // namespace mega::cli
