#include "cli/commands/answer_line.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "mega/base/files/json.h"
#include "mega/base/printable.h"

namespace mega::cli {

std::vector<size_t> AnswerLine::order(std::span<const float> answer) const {
  std::vector<size_t> order(answer.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (signature_.classes.empty()) return order;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return answer[a] > answer[b]; });
  order.resize(std::min(order.size(), static_cast<size_t>(top_)));
  return order;
}

std::string AnswerLine::plain(std::span<const float> answer) const {
  std::string line;
  for (const size_t i : order(answer)) {
    char text[32];
    if (signature_.classes.empty()) {
      std::snprintf(text, sizeof text, "\t%.6g", static_cast<double>(answer[i]));
      line += text;
    } else {
      std::snprintf(text, sizeof text, " %.1f %%", 100.0 * static_cast<double>(answer[i]));
      line += "\t" + printable(signature_.classes[i]) + text;
    }
  }
  return line;
}

void AnswerLine::add_to(nlohmann::ordered_json& line, std::span<const float> answer) const {
  for (const size_t i : order(answer)) {
    if (signature_.classes.empty())
      line["values"].push_back(answer[i]);
    else
      line["classes"].push_back({{"class", signature_.classes[i]}, {"probability", answer[i]}});
  }
}

std::string json_line(const nlohmann::ordered_json& json) { return json_text(json) + "\n"; }

}  // namespace mega::cli
