#include "mega/train/evaluation/metrics.h"

#include <cmath>
#include <cstdio>

namespace mega::train {

std::string metric_text(const Metric& metric) {
  char text[96];
  const double factor = metric.share ? 100.0 : 1.0;
  const int digits = metric.share ? 1 : 4;
  std::snprintf(text, sizeof text, "%.*f%s", digits, metric.value * factor, metric.share ? " %" : "");
  std::string result = metric.name + " " + text;
  if (metric.uncertainty > 0.0) {
    std::snprintf(text, sizeof text, " ± %.*f", digits, metric.uncertainty * factor);
    result += text;
  }
  return result;
}

std::string metric_key(const std::string& name) {
  std::string key;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (name.compare(i, 2, "²") == 0) {
      key += '2';
      ++i;
    } else if (c >= 'A' && c <= 'Z') {
      key += static_cast<char>(c - 'A' + 'a');
    } else {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      key += plain ? c : '_';
    }
  }
  return key;
}

nlohmann::ordered_json to_json(const Scores& scores) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Metric& metric : scores.metrics) {
    json[metric_key(metric.name)] = metric.value;
    if (metric.uncertainty > 0) json[metric_key(metric.name) + "_ci95"] = metric.uncertainty;
  }
  return json;
}

bool Scores::better_than(const Scores& other) const {
  if (metrics.empty() || std::isnan(metrics.front().value)) return false;
  if (other.metrics.empty() || std::isnan(other.metrics.front().value)) return true;
  const double mine = metrics.front().value, theirs = other.metrics.front().value;
  return higher_is_better ? mine > theirs : mine < theirs;
}

}  // namespace mega::train
