#include "mega/report/run_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "mega/base/strings.h"
#include "mega/base/version.h"
#include "mega/report/markup.h"

namespace mega {
namespace {

constexpr const char* kPageStyle = R"(
:root{--ink:#24292f;--faint:#6e7781;--ground:#fff;--raised:#f6f8fa;--line:#e3e6ea;--warn:#9a6700;--accent:#0072b2}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--faint:#98a1ab;--ground:#15181c;--raised:#1d2126;
--line:#30363d;--warn:#e3b341;--accent:#58b0ea;color-scheme:dark}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:68rem;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.5rem 0 .75rem}
p{margin:.25rem 0}
.faint,caption{color:var(--faint)}
code,.mono{font:.86em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
pre{margin:.75rem 0;padding:.6rem .8rem;background:var(--raised);border-radius:6px;white-space:pre-wrap}
.metrics{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.75rem;margin:1.5rem 0}
.metrics div{padding:.7rem .9rem;background:var(--raised);border-radius:8px}
.metrics dt{color:var(--faint);font-size:.82rem}
.metrics dd{margin:0;font-size:1.3rem;font-weight:600;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.notes{padding:.6rem 1rem .6rem 2rem;border-left:3px solid var(--warn);background:var(--raised);margin:1rem 0}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:1.5rem}
metric{margin:0;break-inside:avoid}
svg{max-width:100%;height:auto;display:block}
.scroll{overflow-x:auto}
.scroll svg{max-width:none}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding-bottom:.4rem}
th,td{padding:.35rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);
unicode-bidi:isolate}
th{color:var(--faint);font-weight:500;white-space:nowrap}
.number{text-align:right;white-space:nowrap}
.text{min-width:14rem;overflow-wrap:anywhere;white-space:pre-wrap}
.name{overflow-wrap:break-word}
tr{break-inside:avoid}
footer{margin-top:3rem;color:var(--faint);font-size:.82rem}
@media print{body{max-width:none;padding:0;font-size:11px}h2{break-after:avoid}}
)";

constexpr size_t kLargestMatrix = 30;  // max classes that are readable as a heat map
constexpr size_t kMostReportRows = 100;

std::string metric_text(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return std::isfinite(value) ? text.data() : "–";
}

std::string percent_text(double share) { return metric_text("%.1f %%", 100 * share); }

std::string html_section(const std::string& heading, const std::string& content) {
  return "<section><h2>" + heading + "</h2>\n" + content + "</section>\n";
}

struct HtmlColumn {
  std::string name;
  const char* kind;  // CSS class
};

// Cells are plain text.
std::string html_table(const std::vector<HtmlColumn>& columns,
                       const std::vector<std::vector<std::string>>& rows, const std::string& caption = "") {
  std::string html = "<div class=\"scroll\"><table>";
  if (!caption.empty()) html += "<caption>" + escape_markup(caption) + "</caption>";
  html += "<thead><tr>";
  for (const HtmlColumn& column : columns)
    html += std::string("<th class=\"") + column.kind + "\">" + escape_markup(column.name) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      html += std::string("<td class=\"") + columns[i].kind + "\">" + escape_markup(row[i]) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string head_of(const Report& report) {
  std::string html = "<header><h1>" + escape_markup(report.title) + "</h1>\n";
  std::string when = report.started;
  if (report.seconds > 0) when += (when.empty() ? "" : ", ") + human_seconds(report.seconds);
  if (!when.empty()) html += "<p class=\"faint\">" + escape_markup(when) + "</p>\n";
  if (!report.command.empty()) html += "<pre><code>" + escape_markup(report.command) + "</code></pre>\n";
  html += "</header>\n";
  if (!report.summary.empty()) {
    html += "<dl class=\"metrics\">";
    for (const auto& [name, value] : report.summary)
      html += "<div><dt>" + escape_markup(name) + "</dt><dd>" + escape_markup(value) + "</dd></div>";
    html += "</dl>\n";
  }
  if (!report.notes.empty()) {
    html += "<ul class=\"notes\">";
    for (const std::string& note : report.notes) html += "<li>" + escape_markup(note) + "</li>";
    html += "</ul>\n";
  }
  return html;
}

std::string charts_of(const Report& report) {
  if (report.charts.empty()) return "";
  std::string html = "<div class=\"charts\">\n";
  for (const LineChart& chart : report.charts) html += "<metric>" + to_svg(chart) + "</metric>\n";
  return html_section("Training", html + "</div>\n");
}

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
  return "<metric class=\"scroll\">" + to_svg(map) + "</metric>\n";
}

std::string worst_confusions_of(const Report& report, size_t classes,
                                const std::vector<ClassMetrics>& metrics) {
  struct Confusion {
    size_t truth, predicted;
    int64_t count;
  };
  std::vector<Confusion> all;
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = 0; j < classes; ++j)
      if (const int64_t count = count_at(report.confusion, i, j); i != j && count > 0)
        all.push_back({i, j, count});
  std::stable_sort(all.begin(), all.end(),
                   [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  constexpr size_t kShown = 20;
  all.resize(std::min(all.size(), kShown));
  std::vector<std::vector<std::string>> rows;
  for (const Confusion& c : all) {
    const double share = static_cast<double>(c.count) / static_cast<double>(metrics[c.truth].count);
    rows.push_back({class_name(report, c.truth), class_name(report, c.predicted), with_thousands(c.count),
                    percent_text(share)});
  }
  if (rows.empty()) return "";
  return html_table(
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
  std::vector<std::vector<std::string>> rows;
  for (const size_t i : order) {
    rows.push_back({class_name(report, i), with_thousands(metrics[i].count),
                    percent_text(metrics[i].precision), percent_text(metrics[i].recall),
                    percent_text(metrics[i].f1)});
  }
  return html_table({{"Class", "name"},
                     {"Examples", "number"},
                     {"Precision", "number"},
                     {"Recall", "number"},
                     {"F1", "number"}},
                    rows, caption);
}

std::string classes_of(const Report& report) {
  const size_t classes = classes_in(report.confusion);
  if (classes == 0) return "";
  const std::vector<ClassMetrics> metrics = class_metrics(report.confusion);
  const std::string errors =
      classes <= kLargestMatrix ? matrix_of(report, classes) : worst_confusions_of(report, classes, metrics);
  constexpr size_t kSideBySide = 10;
  const std::string layout = classes <= kSideBySide ? "<div class=\"charts\">\n" : "<div>\n";
  return html_section("Classes", layout + errors + class_table_of(report, metrics) + "</div>\n");
}

std::string examples_of(const std::string& heading, const std::vector<Report::ExampleRow>& examples) {
  if (examples.empty()) return "";
  constexpr size_t kLongestExcerpt = 300;
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(examples.size(), kMostReportRows); ++i) {
    const Report::ExampleRow& example = examples[i];
    rows.push_back({example.where, shortened(example.excerpt, kLongestExcerpt), example.truth,
                    example.predicted, percent_text(example.probability), metric_text("%.3f", example.loss),
                    with_thousands(example.length)});
  }
  return html_section(heading, html_table({{"Where", "name mono"},
                                           {"Excerpt", "text mono"},
                                           {"Truth", "name"},
                                           {"Predicted", "name"},
                                           {"Probability", "number"},
                                           {"Loss", "number"},
                                           {"Length", "number"}},
                                          rows));
}

// All layers share one axis, so that they can be compared.
std::string decay_of(const Report& report) {
  double low = INFINITY;
  double high = 0;
  for (const std::vector<double>& layer : report.decay) {
    for (const double half_life : layer) {
      if (!(half_life > 0 && std::isfinite(half_life))) continue;
      low = std::min(low, half_life);
      high = std::max(high, half_life);
    }
  }
  if (high == 0) return "";
  std::string html =
      "<p class=\"faint\">EMA half-lives of each layer: after one half-life, the weight of an input has "
      "halved.</p>\n<div class=\"charts\">\n";
  for (size_t layer = 0; layer < report.decay.size(); ++layer) {
    const Spectrum spectrum{.title = "Layer " + std::to_string(layer + 1),
                            .x_label = "half-life, positions",
                            .values = report.decay[layer],
                            .low = low,
                            .high = high};
    html += "<metric>" + to_svg(spectrum) + "</metric>\n";
  }
  return html_section("EMA decay", html + "</div>\n");
}

std::string configuration_of(const Report& report) {
  if (report.configuration.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, value] : report.configuration) rows.push_back({key, value});
  return html_section("Configuration", html_table({{"Setting", "name mono"}, {"Value", "text mono"}}, rows));
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

std::string to_html(const Report& report) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
         "<meta name=\"color-scheme\" content=\"light dark\"><title>" +
         escape_markup(report.title) + "</title><style>" + kPageStyle + "</style></head>\n<body>\n" +
         head_of(report) + charts_of(report) + classes_of(report) +
         examples_of("Worst examples", report.worst) + examples_of("Longest examples", report.longest) +
         decay_of(report) + configuration_of(report) + "<footer>mega " + escape_markup(version()) +
         "</footer>\n</body></html>\n";
}

}  // namespace mega
