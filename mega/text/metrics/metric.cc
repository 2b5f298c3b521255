#include "mega/text/metrics/metric.h"

#include "mega/base/error.h"
#include "mega/text/metrics/bleu.h"
#include "mega/text/metrics/chrf.h"
#include "mega/text/metrics/ter.h"

namespace mega {

void add(Statistics& sum, const Statistics& more) {
  if (sum.empty()) sum.resize(more.size());
  require(sum.size() == more.size(), "statistics of different metrics cannot be added: ", sum.size(), " and ",
          more.size(), " numbers");
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

std::unique_ptr<Metric> make_metric(MetricKind kind, const MetricOptions& options) {
  check_ranges(options);
  switch (kind) {
    case MetricKind::chrf:
      return std::make_unique<Chrf>(/*word_order=*/0, options.lowercase);
    case MetricKind::chrf_plus_plus:
      return std::make_unique<Chrf>(/*word_order=*/2, options.lowercase);
    case MetricKind::ter:
      return std::make_unique<Ter>();
    default:
      return std::make_unique<Bleu>(options);
  }
}

std::vector<Statistics> corpus_statistics(const Metric& metric, std::span<const std::string> hypotheses,
                                          std::span<const std::vector<std::string>> references) {
  require(!references.empty(), "no reference to compare with");
  for (const std::vector<std::string>& translation : references)
    require(translation.size() == hypotheses.size(), "a reference of ", translation.size(), " lines for ",
            hypotheses.size(), " hypotheses");
  std::vector<Statistics> result;
  result.reserve(hypotheses.size());
  std::vector<std::string> of_line(references.size());
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    for (size_t r = 0; r < references.size(); ++r) of_line[r] = references[r][i];
    result.push_back(metric.statistics(hypotheses[i], of_line));
  }
  return result;
}

Statistics sum_of(std::span<const Statistics> sentences) {
  Statistics sum;
  for (const Statistics& sentence : sentences) add(sum, sentence);
  return sum;
}

}  // namespace mega
