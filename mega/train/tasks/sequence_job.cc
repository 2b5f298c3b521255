#include "mega/train/tasks/sequence_job.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/hash.h"
#include "mega/base/strings.h"
#include "mega/data/summary.h"

namespace mega::train {

SequenceJob::SequenceJob(const Recipe& recipe)
    : Job(recipe), dataset_(load_dataset(data::dataset_request(recipe))) {
  require(dataset_.train.size() > 0, recipe.data.path, ": no training examples");
  fit_recipe(recipe_, dataset_);
  validate(recipe_);
  signature_ = make_signature(recipe_, dataset_);
  data::fit_vocabulary(recipe_, signature_);
  // A resumed run needs the same token numbers.
  if (!signature_.vocabulary.empty())
    dataset_.checksum += "-" + hexadecimal(hash_text(signature_.vocabulary));
  const int documents = static_cast<int>(recipe_.model.kind().document_count());
  for (data::Part* part : {&dataset_.train, &dataset_.valid, &dataset_.test})
    measure(*part, encoder(), documents);
}

data::Encoder SequenceJob::encoder() const { return data::Encoder(signature_, cls_token(recipe_.model)); }

std::string SequenceJob::describe() const {
  double positions = 0.0;
  int64_t longest = 0;
  for (const int64_t length : dataset_.train.lengths) {
    positions += static_cast<double>(length);
    longest = std::max(longest, length);
  }
  const double mean = positions / static_cast<double>(dataset_.train.size());
  std::string text = with_thousands(dataset_.train.size()) + " train, " +
                     with_thousands(dataset_.valid.size()) + " valid, " +
                     with_thousands(dataset_.test.size()) + " test examples; lengths up to " +
                     with_thousands(longest) + ", mean " + with_thousands(static_cast<int64_t>(mean));
  const auto documents = static_cast<int>(recipe_.model.kind().document_count());
  if (const int64_t cut = data::count_cut(dataset_.train, encoder(), documents); cut > 0)
    text += " (" + with_thousands(cut) + " longer ones are cut to their beginning: input.max_length)";
  if (!dataset_.classes.empty()) text += "; " + std::to_string(dataset_.classes.size()) + " classes";
  if (!signature_.vocabulary.empty())
    text += "; " + with_thousands(make_tokenizer(signature_, INT64_MAX)->size()) + " token types";
  if (dataset_.problems > 0)
    text += "; " + with_thousands(dataset_.problems) +
            " left out (first: " + dataset_.first_problems.front().where + ": " +
            dataset_.first_problems.front().what + ")";
  return text;
}

LargestBatch SequenceJob::largest_batch() const {
  return train::largest_batch(dataset_.train, encoder(), recipe_);
}

std::vector<std::pair<std::string, std::string>> SequenceJob::summary() const {
  return {{"training examples", with_thousands(dataset_.train.size())},
          {"longest", with_thousands(largest_batch().length)}};
}

std::vector<BaselineScores> SequenceJob::baselines(double max_seconds) const {
  const auto linear = train_linear_baseline(recipe_, dataset_, signature_, max_seconds);
  return linear ? std::vector{*linear} : std::vector<BaselineScores>{};
}

std::unique_ptr<Task> SequenceJob::make_task(torch::Device device) const {
  return std::make_unique<SequenceTask>(recipe_, dataset_, signature_, device);
}

LargestBatch largest_batch(const data::Part& part, const data::Encoder& encoder, const Recipe& recipe) {
  LargestBatch largest;
  for (const int64_t length :
       lengths_of(part, encoder, static_cast<int>(recipe.model.kind().document_count())))
    largest.length = std::max(largest.length, length);
  const TrainOptions& train = recipe.train;
  largest.examples = train.batch_unit == BatchUnit::examples
                         ? train.batch
                         : std::max<int64_t>(1, train.batch / std::max<int64_t>(1, largest.length));
  largest.examples = std::min(largest.examples, part.size());
  return largest;
}

}  // namespace mega::train
