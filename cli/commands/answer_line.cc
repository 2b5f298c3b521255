#include "cli/commands/answer_line.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "mega/base/files/json.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/report/terminal.h"

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

std::string AnswerLine::bars(std::span<const float> answer, int64_t width) const {
  constexpr int64_t kBefore = 2, kPercent = 9, kBetween = 2, kShortestBar = 10;
  const int64_t most = std::max<int64_t>(1, width - kBefore - kPercent - kBetween - kShortestBar);
  const std::vector<size_t> shown = order(answer);
  std::vector<std::string> names;
  int64_t longest = 0;
  for (const size_t i : shown) {
    names.emplace_back(prefix_of_width(printable(signature_.classes[i]), most));
    longest = std::max(longest, display_width(names.back()));
  }
  const int64_t room = std::max<int64_t>(0, width - kBefore - longest - kPercent - kBetween);
  const auto spaces = [](int64_t count) { return std::string(static_cast<size_t>(count), ' '); };
  std::string lines;
  for (size_t k = 0; k < shown.size(); ++k) {
    const double share = static_cast<double>(answer[shown[k]]);
    char percent[16];
    std::snprintf(percent, sizeof percent, "%7.1f %%", 100.0 * share);
    lines += spaces(kBefore) + names[k] + spaces(longest - display_width(names[k])) + percent;
    const auto length = static_cast<size_t>(std::llround(share * static_cast<double>(room)));
    if (length > 0) lines += spaces(kBetween) + std::string(length, '=');
    lines += "\n";
  }
  return lines;
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
