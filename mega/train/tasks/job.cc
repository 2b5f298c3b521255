#include "mega/train/tasks/job.h"

#include "mega/train/tasks/language_job.h"
#include "mega/train/tasks/sequence_job.h"
#include "mega/train/tasks/translation_job.h"

namespace mega::train {

std::unique_ptr<Job> make_job(const Recipe& recipe) {
  switch (recipe.model.kind().task()) {
    case ModelTask::language:
      return std::make_unique<LanguageJob>(recipe);
    case ModelTask::translation:
      return std::make_unique<TranslationJob>(recipe);
    case ModelTask::sequence:
    case ModelTask::image:
      break;
  }
  return std::make_unique<SequenceJob>(recipe);
}

}  // namespace mega::train
