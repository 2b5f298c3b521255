// A whole data set: read, labelled and divided into training, validation and test examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/config/model_options.h"
#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/data/part.h"

namespace mega::data {

struct Dataset {
  Part train, valid, test;
  std::vector<std::string> classes;  // in label order; empty for a regression
  int64_t outputs = 0;               // classes, or numbers a record of a regression has
  int64_t problems = 0;              // examples left out
  std::vector<Problem> first_problems;
  std::string
      checksum;  // of all examples, whatever their order: "h1-" or "p1-", which names the way, and a hash

  const Part& part(Split split) const;
};

struct DatasetRequest {
  DataOptions data;
  InputOptions input;
  bool pairs = false;
  Objective objective = Objective::classification;
  std::vector<std::string> classes;  // of a model that knows its classes; empty: those found
  bool whole = false;  // sounds are kept beyond the input's length, to take random windows of them
};

// The layout that `automatic` stands for.
DataFormat find_format(const DatasetRequest& request);

Dataset load_dataset(const DatasetRequest& request);

// The examples of request.data.path alone, in the order in which load_dataset reads them.
void read_examples(const DatasetRequest& request, RecordSink& sink, Problems& problems);

// The numbers of a regression's label; none when it is something else.
std::vector<float> parse_targets(const std::string& label);

}  // namespace mega::data
