#include "mega/train/tasks/translation_job.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/data/parallel/pair_suspicions.h"
#include "mega/data/parallel/recipe_pairs.h"
#include "mega/train/tasks/translation_task.h"

namespace mega::train {
namespace {

// Of the longer side of a pair, with </s>.
int64_t longest_pair(const data::PairPart& part) {
  int64_t longest = 0;
  for (const data::TokenLines* side : {&part.source, &part.target})
    side->for_each_length([&](int64_t length) { longest = std::max(longest, length); });
  return longest;
}

// A model with a bias or an embedding for each position reads no further.
void require_positions(const data::ParallelCorpus& corpus, const Recipe& recipe) {
  const int64_t most = recipe.model.kind().max_length();
  if (most == 0) return;
  for (const data::PairPart* part : corpus.parts())
    if (const int64_t longest = longest_pair(*part); longest > most)
      fail(part->name(), ": a line has ", longest, " tokens, and the model has positions for ", most,
           ": set input.max_length=", most, ", or give the model more positions");
}

}  // namespace

TranslationJob::TranslationJob(const Recipe& recipe)
    : Job(recipe), corpus_(data::load_parallel(data::parallel_request(recipe))) {
  TranslationOptions& model = *translation_options(recipe_.model);
  model.vocabulary = embedding_count(corpus_.tokenizers.target->size(), 0);
  const bool joint = data::translation_input(recipe_).joint;
  model.source_vocabulary = joint ? 0 : embedding_count(corpus_.tokenizers.source->size(), 0);
  require(joint || !model.share_embeddings,
          "model.share_embeddings: with input.joint=false each language has its own tokens, which cannot "
          "have the same embeddings; set it to false");
  validate(recipe_);
  require_positions(corpus_, recipe_);
  signature_ = data::make_signature(recipe_, corpus_);
  largest_.length = longest_pair(corpus_.train);
  largest_.examples =
      std::min(corpus_.train.size(), recipe_.train.batch_unit == BatchUnit::examples
                                         ? recipe_.train.batch
                                         : std::max<int64_t>(1, recipe_.train.batch / largest_.length));
}

std::string TranslationJob::describe() const {
  const auto& input = std::get<TranslationInput>(signature_.input.input);
  std::string text;
  if (!input.source_language.empty()) text = input.source_language + " to " + input.target_language + ": ";
  text += with_thousands(corpus_.train.size()) + " train, " + with_thousands(corpus_.valid.size()) + " valid";
  for (const data::PairPart& test : corpus_.tests)
    text += ", " + with_thousands(test.size()) + " " + test.name();
  text += " pairs; ";
  if (!input.joint) text += with_thousands(corpus_.tokenizers.source->size()) + " and ";
  text += with_thousands(corpus_.tokenizers.target->size()) + " token types";
  if (corpus_.problems > 0) text += "; " + with_thousands(corpus_.problems) + " files or rows left out";
  return text;
}

std::vector<std::string> TranslationJob::suspicions() const { return data::find_suspicions(corpus_); }

std::vector<std::pair<std::string, std::string>> TranslationJob::summary() const {
  return {{"training pairs", with_thousands(corpus_.train.size())},
          {"training tokens", with_thousands(corpus_.train.target.text().size())},
          {"token types", with_thousands(corpus_.tokenizers.target->size())}};
}

std::unique_ptr<Task> TranslationJob::make_task(torch::Device device) const {
  return std::make_unique<TranslationTask>(recipe_, corpus_, signature_, device);
}

}  // namespace mega::train
