#include "cli/torch/eval_translation.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands/evaluation_data.h"
#include "cli/model_argument.h"
#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/parallel/recipe_pairs.h"
#include "mega/train/evaluation/translation_evaluation.h"
#include "mega/train/saved_model.h"

namespace mega::cli {
namespace {

using Json = nlohmann::ordered_json;

data::ParallelCorpus load_pairs(const TranslatorEvaluation& request,
                                const train::SavedTranslationModel& saved) {
  require(request.split != data::Split::train,
          "--split train: training pairs are cleaned, so that there is no text to compare with; evaluate on "
          "valid or test, or on other text with --data");
  Recipe recipe;
  recipe.data = evaluation_data(saved.signature.data, request.path);
  for (const std::string& assignment : request.changes) {
    require(assignment.starts_with("data."), "--set ", assignment,
            ": eval of a translator accepts data options only");
    change(recipe, assignment);
  }
  data::ParallelRequest wanted;
  wanted.data = recipe.data;
  wanted.input = std::get<TranslationInput>(saved.signature.input.input);
  wanted.known = saved.tokenizers;
  wanted.preparation = data::pair_preparation(wanted.input);
  wanted.train = false;
  return data::load_parallel(wanted);
}

}  // namespace

void evaluate_translator(const TranslatorEvaluation& request) {
  const train::SavedTranslationModel saved = train::load_translation_model(model_path(request.model));
  saved.model->to(request.device);
  const data::ParallelCorpus corpus = load_pairs(request, saved);
  std::vector<const data::PairPart*> sets;
  if (request.split == data::Split::valid) {
    sets = {&corpus.valid};
  } else {
    for (const data::PairPart& test : corpus.tests) sets.push_back(&test);
  }
  std::erase_if(sets, [](const data::PairPart* set) { return set->empty(); });
  require(!sets.empty(), "no ", data::split_name(request.split), " pairs; choose another split with --split");

  const TranslationText target(target_text(std::get<TranslationInput>(saved.signature.input.input)),
                               saved.tokenizers.target);
  train::PairReading reading;
  reading.device = request.device;
  reading.pairs = request.pairs;
  reading.translated = request.pairs > 0 ? request.pairs : -1;
  Json report = {
      {"model", request.model}, {"split", data::split_name(request.split)}, {"sets", Json::array()}};
  for (const data::PairPart* set : sets) {
    const auto start = std::chrono::steady_clock::now();
    const train::PairEvaluation evaluation =
        train::evaluate_pairs(saved.model, *set, data::written_pairs(*set), target, reading);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const train::Scores scores = evaluation.scores(TranslationScore::bleu);
    const int64_t pairs = std::ssize(evaluation.translations);
    if (request.json) {
      Json entry = {{"name", set->name()}, {"pairs", pairs}, {"tokens", evaluation.tokens}};
      entry.update(train::to_json(scores));
      entry["seconds"] = seconds;
      report["sets"].push_back(std::move(entry));
      continue;
    }
    std::vector<std::string> metrics;
    for (const train::Metric& metric : scores.metrics) metrics.push_back(train::metric_text(metric));
    std::printf("%s: %s; %s pairs in %s\n", printable(set->name()).c_str(), join(metrics, ", ").c_str(),
                with_thousands(pairs).c_str(), human_seconds(seconds).c_str());
  }
  if (request.json) std::printf("%s\n", json_text(report, 2).c_str());
}

}  // namespace mega::cli
