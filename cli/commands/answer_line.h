// Formats a classifier's prediction, as part of an output line or in lines of its own.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "mega/config/files/signature.h"

namespace mega::cli {

// The most likely classes with their probabilities, or the predicted numbers.
class AnswerLine {
 public:
  // `top`: number of classes shown.
  AnswerLine(const Signature& signature, int64_t top) : signature_(signature), top_(top) {}

  // "\tcat 93.1 %\tdog 4.0 %", or "\t1.5\t20".
  std::string plain(std::span<const float> answer) const;
  // For terminals: a line for each class, of at most `width` columns, with a bar as long as it is probable.
  std::string bars(std::span<const float> answer, int64_t width) const;
  // "classes": [{"class": "cat", "probability": 0.931}, ...], or "values": [1.5, 20].
  void add_to(nlohmann::ordered_json& line, std::span<const float> answer) const;

 private:
  std::vector<size_t> order(std::span<const float> answer) const;

  const Signature& signature_;
  int64_t top_;
};

// One line of JSON; invalid UTF-8 in names is replaced.
std::string json_line(const nlohmann::ordered_json& json);

}  // namespace mega::cli
