// A whole data set: read, labelled and divided into training, validation and test examples.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mega/config/data_options.h"
#include "mega/config/input_options.h"
#include "mega/config/model_options.h"
#include "mega/data/record.h"

namespace mega::data {

// The examples of one split.
struct Part {
  std::vector<Record> records;
  std::vector<int64_t> labels;  // one per record; empty for a regression
  std::vector<float> targets;   // `outputs` per record; empty for a classification

  int64_t size() const { return static_cast<int64_t>(records.size()); }
};

struct Dataset {
  Part train, valid, test;
  std::vector<std::string> classes;  // in label order; empty for a regression
  int64_t outputs = 0;               // classes, or numbers a record of a regression has
  int64_t problems = 0;              // examples left out
  std::vector<Problem> first_problems;
  std::string checksum;  // of all examples, whatever their order

  const Part& part(Split split) const;
};

struct DatasetRequest {
  DataOptions data;
  InputOptions input;
  bool pairs = false;
  Objective objective = Objective::classification;
  std::vector<std::string> classes;  // of a model that knows its classes; empty: those found
};

// The layout that `automatic` stands for.
DataFormat find_format(const DatasetRequest& request);

Dataset load_dataset(const DatasetRequest& request);

const char* split_name(Split split);

}  // namespace mega::data
