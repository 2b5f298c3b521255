#include "mega/report/run_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "mega/base/strings.h"
#include "mega/base/version.h"
#include "mega/report/html.h"
#include "mega/report/markup.h"
#include "mega/report/report_sections.h"

namespace mega {
namespace {

using html::Cell;

std::string head_of(const Report& report) {
  const std::string& heading = report.title.empty() ? report.description : report.title;
  std::string html = "<header><h1>" + escape_markup(heading) + "</h1>\n";
  if (!report.description.empty() && heading != report.description)
    html += "<p class=\"lead\">" + escape_markup(report.description) + "</p>\n";
  std::string when = report.started;
  if (report.seconds > 0) when += (when.empty() ? "" : ", ") + human_seconds(report.seconds);
  if (!when.empty()) html += "<p class=\"faint\">" + escape_markup(when) + "</p>\n";
  if (!report.command.empty()) html += "<pre><code>" + escape_markup(report.command) + "</code></pre>\n";
  return html + "</header>\n";
}

std::string summary_of(const Report& report) {
  if (report.summary.empty()) return "";
  std::string html = "<dl class=\"metrics\">";
  for (const auto& [name, value] : report.summary)
    html += "<div><dt>" + escape_markup(name) + "</dt><dd>" + escape_markup(value) + "</dd></div>";
  return html + "</dl>\n";
}

std::string notes_of(const std::vector<std::string>& notes) {
  if (notes.empty()) return "";
  std::string html = "<ul class=\"notes\">";
  for (const std::string& note : notes) html += "<li>" + escape_markup(note) + "</li>";
  return html + "</ul>\n";
}

// The model among its baselines, the best first.
std::string comparison_of(const Report& report) {
  std::vector<Report::ScoreRow> all = report.comparison.rows;
  const auto own = [](const Report::ScoreRow& row) { return row.own; };
  if (std::all_of(all.begin(), all.end(), own)) return "";
  const auto better = [&](const Report::ScoreRow& a, const Report::ScoreRow& b) {
    if (!std::isfinite(a.value) || !std::isfinite(b.value))
      return std::isfinite(a.value) && !std::isfinite(b.value);
    return report.comparison.higher_is_better ? a.value > b.value : a.value < b.value;
  };
  std::stable_sort(all.begin(), all.end(), better);
  const Report::ScoreRow& best = all.front();
  html::Rows rows;
  for (const Report::ScoreRow& row : all) {
    std::string name = escape_markup(row.name);
    if (row.own) name = "<strong>" + (name.empty() ? "this model" : name + " (this model)") + "</strong>";
    if (std::isfinite(row.value) && !better(best, row)) name += " <span class=\"best\">best</span>";
    rows.push_back({Cell::markup(name), row.score});
  }
  std::string html = "<div class=\"small\">" +
                     html::table({{"Model", "name"}, {report.comparison.metric, "number"}}, rows) +
                     "</div>\n";
  const auto model = std::find_if(all.begin(), all.end(), own);
  if (model != all.end() && better(best, *model))
    html += notes_of({best.name + " is better than this model: " + best.score + " against " + model->score +
                      ". It may serve you better, or this model needs more training or data."});
  return html::section("Compared with baselines", html);
}

std::string tables_of(const Report& report) {
  std::string html;
  for (const auto& [heading, table] : report.tables) html += html::section(heading, table.html());
  return html;
}

std::string charts_of(const Report& report) {
  if (report.charts.empty()) return "";
  std::string html = "<div class=\"charts\">\n";
  for (const LineChart& chart : report.charts) html += html::figure(to_svg(chart));
  return html::section("Training", html + "</div>\n");
}

std::string predictions_of(const Report& report) {
  if (report.predictions.empty()) return "";
  constexpr size_t kMostShown = 8;
  const size_t shown = std::min(report.predictions.size(), kMostShown);
  std::string html = "<div class=\"charts\">\n";
  for (size_t i = 0; i < shown; ++i) html += html::figure(to_svg(report.predictions[i]));
  html += "</div>\n";
  if (shown < report.predictions.size())
    html +=
        "<p class=\"faint\">" + std::to_string(report.predictions.size() - shown) + " more not shown</p>\n";
  return html::section("Predictions", html);
}

std::string sample_of(const Report::Sample& sample) {
  constexpr size_t kLong = 500;
  constexpr size_t kLongest = 20'000;
  const std::string text = shortened(sample.text, kLongest);
  const std::string prompt = "<b>" + escape_markup(shortened(sample.prompt, kLongest)) + "</b>";
  const auto paragraph = [&](const std::string& content) {
    return "<p class=\"sample\">" + prompt + escape_markup(content) + "</p>\n";
  };
  const std::string beginning = shortened(text, kLong);
  std::string html = "<h3>Update " + with_thousands(sample.update) + "</h3>\n" + paragraph(beginning);
  if (beginning != text) html += html::fold("The whole text", paragraph(text));
  return html;
}

// The newest first; earlier ones are folded.
std::string samples_of(const Report& report) {
  if (report.samples.empty()) return "";
  std::vector<Report::Sample> samples = report.samples;
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Report::Sample& a, const Report::Sample& b) { return a.update > b.update; });
  constexpr size_t kOpen = 3;
  samples.resize(std::min(samples.size(), kMostReportRows));
  std::string newest, earlier;
  for (size_t i = 0; i < samples.size(); ++i) (i < kOpen ? newest : earlier) += sample_of(samples[i]);
  if (!earlier.empty()) newest += html::fold(std::to_string(samples.size() - kOpen) + " earlier", earlier);
  return html::section("Generated texts", newest);
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
    html += html::figure(to_svg(spectrum));
  }
  return html::section("EMA decay", html + "</div>\n");
}

std::string page_title(const Report& report) {
  if (report.title.empty() || report.description.empty()) return report.title + report.description;
  return report.title + " – " + report.description;
}

}  // namespace

std::string metric_text(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return std::isfinite(value) ? text.data() : "–";
}

std::string percent_text(double share) { return metric_text("%.1f %%", 100 * share); }

std::string to_html(const Report& report) {
  return html::page(page_title(report), head_of(report) + summary_of(report) + comparison_of(report) +
                                            tables_of(report) + notes_of(report.notes) + charts_of(report) +
                                            samples_of(report) + predictions_of(report) +
                                            classes_section(report) + confused_section(report) +
                                            examples_section("Worst examples", report.worst) +
                                            examples_section("Longest examples", report.longest) +
                                            decay_of(report) + configuration_section(report) +
                                            "<footer>mega " + escape_markup(version()) + "</footer>\n");
}

}  // namespace mega
