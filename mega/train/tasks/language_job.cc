#include "mega/train/tasks/language_job.h"

#include <algorithm>
#include <cstdio>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/files/signature.h"
#include "mega/data/initial_tokenizer.h"
#include "mega/train/tasks/language_task.h"

namespace mega::train {

LanguageJob::LanguageJob(const Recipe& recipe)
    : Job(recipe),
      corpus_(data::load_corpus(recipe.data, language_input(recipe), data::initial_tokenizer(recipe))) {
  recipe.model.kind().reading();  // an Error where it does not predict the next token
  require(!corpus_.train.empty(), recipe.data.path, ": no text to train on");
  require(recipe.train.label_smoothing == 0.0,
          "train.label_smoothing: language models have none, as released; set it to 0");
  token_options(recipe_.model)->vocabulary = embedding_count(corpus_.tokenizer->size(), 0);
  validate(recipe_);
}

std::string LanguageJob::describe() const {
  std::string text = with_thousands(corpus_.train.size()) + " train, " +
                     with_thousands(corpus_.valid.size()) + " valid, " + with_thousands(corpus_.test.size()) +
                     " test tokens; " + with_thousands(corpus_.tokenizer->size()) + " token types";
  const int64_t unknown = corpus_.train.counts.unknown;
  if (unknown > 0) {
    char share[32];
    std::snprintf(share, sizeof share, "%.2f %%",
                  100.0 * static_cast<double>(unknown) / static_cast<double>(corpus_.train.size()));
    text += std::string("; ") + share + " of the training tokens unknown";
  }
  return text;
}

LargestBatch LanguageJob::largest_batch() const {
  const BlockPlan plan = block_plan(recipe_);
  LargestBatch largest;
  largest.length = std::min(plan.max_chunks * plan.chunk, corpus_.train.size());
  largest.examples = recipe_.train.batch_unit == BatchUnit::examples
                         ? recipe_.train.batch
                         : std::max<int64_t>(1, recipe_.train.batch / largest.length);
  return largest;
}

std::vector<std::pair<std::string, std::string>> LanguageJob::summary() const {
  return {{"training tokens", with_thousands(corpus_.train.size())},
          {"token types", with_thousands(corpus_.tokenizer->size())}};
}

std::unique_ptr<Task> LanguageJob::make_task(torch::Device device) const {
  return std::make_unique<LanguageTask>(recipe_, corpus_, device);
}

}  // namespace mega::train
