#include <algorithm>
#include <numeric>

#include "mega/base/strings.h"
#include "mega/report/html.h"
#include "mega/report/markup.h"
#include "mega/report/report_sections.h"

namespace mega {
namespace {

constexpr size_t kLargestMatrix = 30;  // max classes that are readable as a heat map

int64_t count_at(const std::vector<std::vector<int64_t>>& confusion, size_t truth, size_t predicted) {
  const bool there = truth < confusion.size() && predicted < confusion[truth].size();
  return there ? std::max<int64_t>(confusion[truth][predicted], 0) : 0;
}

size_t classes_in(const std::vector<std::vector<int64_t>>& confusion) {
  size_t count = confusion.size();
  for (const std::vector<int64_t>& row : confusion) count = std::max(count, row.size());
  return count;
}

std::string class_name(const Report& report, size_t index) {
  constexpr size_t kLongest = 60;
  return index < report.classes.size() ? shortened(report.classes[index], kLongest)
                                       : "class " + std::to_string(index);
}

std::string matrix_of(const Report& report, size_t classes) {
  HeatMap map;
  map.title = "Confusion matrix";
  map.row_label = "truth";
  map.column_label = "predicted";
  for (size_t i = 0; i < classes; ++i) {
    map.rows.push_back(class_name(report, i));
    std::vector<double>& row = map.values.emplace_back();
    for (size_t j = 0; j < classes; ++j) row.push_back(static_cast<double>(count_at(report.confusion, i, j)));
  }
  map.columns = map.rows;
  return html::figure(to_svg(map), "scroll");
}

std::string worst_confusions_of(const Report& report, const std::vector<ClassMetrics>& metrics) {
  constexpr size_t kShown = 20;
  html::Rows rows;
  for (const Confusion& c : most_confused(report.confusion, kShown)) {
    const double share = static_cast<double>(c.count) / static_cast<double>(metrics[c.truth].count);
    rows.push_back({class_name(report, c.truth), class_name(report, c.predicted), with_thousands(c.count),
                    percent_text(share)});
  }
  if (rows.empty()) return "";
  return html::table(
      {{"Truth", "name"}, {"Predicted", "name"}, {"Examples", "number"}, {"Share of class", "number"}}, rows,
      "Most frequent confusions");
}

std::string class_table_of(const Report& report, const std::vector<ClassMetrics>& metrics) {
  std::vector<size_t> order(metrics.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::string caption;
  if (order.size() > kLargestMatrix) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return metrics[a].f1 < metrics[b].f1; });
    caption = "By F1, lowest first";
    if (order.size() > kMostReportRows)
      caption += "; " + std::to_string(order.size() - kMostReportRows) + " more not shown";
    order.resize(std::min(order.size(), kMostReportRows));
  }
  html::Rows rows;
  for (const size_t i : order) {
    rows.push_back({class_name(report, i), with_thousands(metrics[i].count),
                    percent_text(metrics[i].precision), percent_text(metrics[i].recall),
                    percent_text(metrics[i].f1)});
  }
  return html::table({{"Class", "name"},
                      {"Examples", "number"},
                      {"Precision", "number"},
                      {"Recall", "number"},
                      {"F1", "number"}},
                     rows, caption);
}

}  // namespace

std::vector<ClassMetrics> class_metrics(const std::vector<std::vector<int64_t>>& confusion) {
  const size_t classes = classes_in(confusion);
  std::vector<ClassMetrics> metrics(classes);
  for (size_t i = 0; i < classes; ++i) {
    int64_t predicted = 0;
    for (size_t j = 0; j < classes; ++j) {
      metrics[i].count += count_at(confusion, i, j);
      predicted += count_at(confusion, j, i);
    }
    const auto right = static_cast<double>(count_at(confusion, i, i));
    const auto share = [right](int64_t of) { return of > 0 ? right / static_cast<double>(of) : 0; };
    metrics[i].precision = share(predicted);
    metrics[i].recall = share(metrics[i].count);
    metrics[i].f1 = right > 0 ? 2 * right / static_cast<double>(predicted + metrics[i].count) : 0;
  }
  return metrics;
}

std::vector<Confusion> most_confused(const std::vector<std::vector<int64_t>>& confusion, size_t most) {
  const size_t classes = classes_in(confusion);
  std::vector<Confusion> all;
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = 0; j < classes; ++j)
      if (const int64_t count = count_at(confusion, i, j); i != j && count > 0) all.push_back({i, j, count});
  std::stable_sort(all.begin(), all.end(),
                   [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  all.resize(std::min(all.size(), most));
  return all;
}

std::string classes_section(const Report& report) {
  const size_t classes = classes_in(report.confusion);
  if (classes == 0) return "";
  const std::vector<ClassMetrics> metrics = class_metrics(report.confusion);
  const std::string errors =
      classes <= kLargestMatrix ? matrix_of(report, classes) : worst_confusions_of(report, metrics);
  constexpr size_t kSideBySide = 10;
  const std::string layout = classes <= kSideBySide ? "<div class=\"charts\">\n" : "<div>\n";
  return html::section("Classes", layout + errors + class_table_of(report, metrics) + "</div>\n");
}

}  // namespace mega
