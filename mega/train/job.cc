#include "mega/train/job.h"

#include "mega/train/language_job.h"
#include "mega/train/sequence_job.h"

namespace mega::train {

std::unique_ptr<Job> make_job(const Recipe& recipe) {
  if (token_options(recipe.model) != nullptr) return std::make_unique<LanguageJob>(recipe);
  return std::make_unique<SequenceJob>(recipe);
}

}  // namespace mega::train
