// The examples of one split.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mega/data/examples.h"

namespace mega::data {

// Some of the examples that were read, with what is to be learnt of each. Contents are loaded when asked for.
struct Part {
  Part() = default;
  // Without labels; all in memory.
  explicit Part(std::vector<Record> records);

  std::shared_ptr<const Examples> examples;  // where they are; may be shared with other parts
  std::vector<int64_t> numbers;              // which of those
  std::vector<int64_t> labels;               // one per example; empty for a regression
  std::vector<float> targets;                // `outputs` per example; empty for a classification
  std::vector<int64_t> lengths;              // as the model reads them (measure()); empty: not measured

  int64_t size() const { return static_cast<int64_t>(numbers.size()); }
  bool empty() const { return numbers.empty(); }

  Record get(int64_t i) const { return examples->get(number(i)); }  // thread-safe
  std::string where(int64_t i) const { return examples->where(number(i)); }
  const std::string& label(int64_t i) const { return examples->label(number(i)); }
  uint64_t content_hash(int64_t i) const { return examples->content_hash(number(i)); }

  // Numbers to predict of each example.
  size_t outputs() const { return empty() ? 0 : targets.size() / numbers.size(); }

 private:
  int64_t number(int64_t i) const { return numbers[static_cast<size_t>(i)]; }
};

// Calls `use` with each example in order; those on disk are loaded ahead by several threads.
void for_each_record(const Part& part, const std::function<void(const Record&)>& use);

}  // namespace mega::data
