#include "mega/train/tasks/job.h"

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/train/tasks/language_job.h"
#include "mega/train/tasks/sequence_job.h"
#include "mega/train/tasks/translation_job.h"

namespace mega::train {

std::unique_ptr<Job> make_job(const Recipe& recipe) {
  require(
      recipe.model.kind().is_available(), "models of kind ", in_quotes(recipe.model.kind_name()),
      " can be described (`mega inspect`) but not trained yet. What can be trained: classifiers of texts, "
      "sounds, pictures and series, language models and translators; `mega presets` lists them");
  switch (recipe.model.kind().task()) {
    case ModelTask::language:
      return std::make_unique<LanguageJob>(recipe);
    case ModelTask::translation:
      return std::make_unique<TranslationJob>(recipe);
    default:
      return std::make_unique<SequenceJob>(recipe);
  }
}

}  // namespace mega::train
