// One example as its file has it, before a model's input options turn it into numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "mega/data/formats/picture.h"

namespace mega::data {

enum class Split { unknown, train, valid, test };
const char* split_name(Split split);

struct Record {
  std::string bytes;          // a text; of a picture without colours and of the model's size, its grey values
  std::string second;         // the second text of a pair
  Picture picture;            // in its own colours and size
  std::vector<float> values;  // samples of sound, or a series: position by position, its channels together
  std::string label;          // a class's name, or the number(s) to predict, as written in the file
  Split split = Split::unknown;
  std::string where;  // path within the data, with the line where there are lines: "train.tsv:17"
  std::string id;     // what the data calls it, where a column says so; not kept for training
  bool cut = false;   // its file goes on beyond what was read of it (sounds)
};

// Of what a model reads: the same for the same example, whatever its label and place.
uint64_t content_hash(const Record& record);

// Of its content, in memory.
size_t content_bytes(const Record& record);

// What was wrong with which line or file.
struct Problem {
  std::string where, what;
};

// Where readers put what they cannot read: left out and counted, or an Error at once, as the user chose.
class Problems {
 public:
  explicit Problems(bool skip) : skip_(skip) {}
  // Left out, counted, and told at once, between the examples around it.
  explicit Problems(std::function<void(const Problem&)> tell) : skip_(true), tell_(std::move(tell)) {}

  void add(const std::string& where, const std::string& what);

  bool skips() const { return skip_; }
  int64_t count() const { return count_; }
  const std::vector<Problem>& first() const { return first_; }  // at most kKept of them

  static constexpr size_t kKept = 100;

 private:
  bool skip_;
  std::function<void(const Problem&)> tell_;
  int64_t count_ = 0;
  std::vector<Problem> first_;
};

}  // namespace mega::data
