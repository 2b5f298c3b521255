#include "mega/train/metrics.h"

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

bool Scores::better_than(const Scores& other) const {
  if (metrics.empty() || std::isnan(metrics.front().value)) return false;
  if (other.metrics.empty() || std::isnan(other.metrics.front().value)) return true;
  const double mine = metrics.front().value, theirs = other.metrics.front().value;
  return higher_is_better ? mine > theirs : mine < theirs;
}

}  // namespace mega::train
