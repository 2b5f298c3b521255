// Inputs of a trained model, from whatever training reads: the same files give the same examples in the same
// order, but labels are not needed.
//
//   const Signature& signature = classifier.signature();
//   data::InputRequest request = data::input_request(signature, classifier.documents());
//   data::Problems problems(false);  // what cannot be read is an Error
//   data::read_inputs("reviews.csv", request, [&](data::Record&& record) {
//     const std::vector<float> answer = infer::answer(classifier, classifier.encoder(), record, run);
//     ...
//   }, problems);
//
// A record has its place in `where` ("reviews.csv:17"), the `id` and `label` that the data has, and its
// content.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/data/record.h"

namespace mega::data {

struct InputRequest {
  InputOptions input;
  DataOptions data;                  // columns, delimiter and format as in training
  std::vector<std::string> classes;  // of the model
  bool pairs = false;
  bool lines = false;  // each line of a text file is an input
  bool table = false;  // texts of a file are in a table, whatever its name
  bool labels = true;  // false: nothing in the data is a label
};

// As the model was trained. `documents`: 1, or 2 for pairs.
InputRequest input_request(const Signature& signature, int documents);

// The inputs in a folder or a file, or standard input ("-"), one after the other:
//  - a folder, and a table (csv, tsv, jsonl) of texts: as in training. Files need not be in a folder of a
//  class,
//    and a table needs no column of labels. A text may be empty.
//  - another file of text: one input, or with `lines` each of its lines, empty ones too. Standard input, and
//  what
//    pairs are read from, is always lines.
//  - numbers: an npy array, jsonl or table of series as in training; or one series, a line (a row of the
//  array) a
//    position. Which of them it is, the number of columns says (docs/data.md).
//  - a sound or picture file: one input.
// Memory is taken for one input at a time, except for tables with a row per time step; of pictures, some are
// decoded ahead by other threads.
void read_inputs(const std::string& path, const InputRequest& request,
                 const std::function<void(Record&&)>& use, Problems& problems);
// The same of one path after the other.
void read_inputs(std::span<const std::string> paths, const InputRequest& request,
                 const std::function<void(Record&&)>& use, Problems& problems);

// How many inputs, and problems in place of inputs, there are. A file that is one input is not read.
int64_t count_inputs(const std::string& path, const InputRequest& request);

// A text by itself; of a pair, both texts with a tab between.
Record text_input(std::string text, std::string where, bool pair);

// Whether the model of this signature reads less than all of the record.
class CutInputs {
 public:
  explicit CutInputs(const Signature& signature);
  bool is_cut(const Record& record) const;

 private:
  int64_t most_ = 0;  // positions that are read; 0: all
  int64_t channels_ = 1;
  std::shared_ptr<const Tokenizer> tokenizer_;  // null where no text is read
};

}  // namespace mega::data
