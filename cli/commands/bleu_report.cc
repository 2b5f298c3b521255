#include "cli/commands/bleu_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/report/table.h"
#include "mega/text/metrics/bleu.h"

namespace mega::cli {
namespace {

constexpr double kSignificant = 0.05;

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string corpus_part(const ScoredTranslations& scored) {
  return "nrefs:" + std::to_string(scored.references.size());
}

std::string precisions_text(const BleuScore& bleu) {
  std::vector<std::string> parts;
  for (const double precision : bleu.precisions) parts.push_back(fixed(precision, 1));
  return join(parts, "/");
}

std::string details_text(const BleuScore& bleu) {
  return " " + precisions_text(bleu) + " (BP = " + fixed(bleu.brevity_penalty, 3) +
         " ratio = " + fixed(bleu.length_ratio(), 3) + " hyp_len = " + fixed(bleu.hypothesis_length, 0) +
         " ref_len = " + fixed(bleu.reference_length, 0) + ")";
}

std::string multi_bleu_text(const BleuScore& bleu, int width) {
  return "BLEU = " + fixed(bleu.score, width) + ", " + precisions_text(bleu) +
         " (BP=" + fixed(bleu.brevity_penalty, 3) + ", ratio=" + fixed(bleu.length_ratio(), 3) +
         ", hyp_len=" + fixed(bleu.hypothesis_length, 0) + ", ref_len=" + fixed(bleu.reference_length, 0) +
         ")";
}

nlohmann::ordered_json whole_numbers(const std::vector<double>& values) {
  nlohmann::ordered_json result = nlohmann::ordered_json::array();
  for (const double value : values) result.push_back(static_cast<int64_t>(value));
  return result;
}

void add_details(nlohmann::ordered_json& object, const BleuScore& bleu) {
  object["precisions"] = bleu.precisions;
  object["brevity_penalty"] = bleu.brevity_penalty;
  object["hypothesis_length"] = static_cast<int64_t>(bleu.hypothesis_length);
  object["reference_length"] = static_cast<int64_t>(bleu.reference_length);
  object["matches"] = whole_numbers(bleu.matches);
  object["totals"] = whole_numbers(bleu.totals);
}

nlohmann::ordered_json head(const ScoredTranslations& scored) {
  return {{"references", scored.references}, {"lines", scored.lines}};
}

void print_json(const nlohmann::ordered_json& object, int indent) {
  std::printf("%s\n", json_text(object, indent).c_str());
}

}  // namespace

void print_scores(const ScoredTranslations& scored, const ScoreFormat& format) {
  nlohmann::ordered_json object = head(scored);
  object["hypothesis"] = scored.systems.front().name;
  for (size_t m = 0; m < scored.metrics.size(); ++m) {
    const Metric& metric = *scored.metrics[m];
    const Statistics sum = sum_of(scored.systems.front().statistics[m]);
    const std::string signature = metric.signature(corpus_part(scored), false);
    const auto* const bleu = dynamic_cast<const Bleu*>(&metric);
    const double score = metric.score(sum);
    if (format.json) {
      object[metric.key()] = score;
      object[metric.key() + "_signature"] = signature;
      if (bleu) add_details(object, bleu->details(sum));
    } else if (format.multi_bleu && bleu) {
      std::printf("%s\n", multi_bleu_text(bleu->details(sum), format.width).c_str());
    } else {
      std::printf("%s|%s = %s%s\n", metric.name().c_str(), signature.c_str(),
                  fixed(score, format.width).c_str(), bleu ? details_text(bleu->details(sum)).c_str() : "");
    }
  }
  if (format.json) print_json(object, 2);
}

void print_sentence_scores(const ScoredTranslations& scored, const ScoreFormat& format) {
  for (size_t line = 0; line < scored.lines; ++line) {
    nlohmann::ordered_json object = {{"line", line + 1}};
    std::vector<std::string> cells;
    for (size_t m = 0; m < scored.metrics.size(); ++m) {
      const Metric& metric = *scored.metrics[m];
      const double score = metric.sentence_score(scored.systems.front().statistics[m][line]);
      object[metric.key()] = score;
      cells.push_back(fixed(score, format.width));
    }
    if (format.json)
      print_json(object, -1);
    else
      std::printf("%s\n", join(cells, "\t").c_str());
    require(std::ferror(stdout) == 0, "cannot write to standard output");
  }
}

void print_comparison(const ScoredTranslations& scored, const BootstrapOptions& options,
                      const ScoreFormat& format) {
  const std::string corpus = corpus_part(scored) + "|bs:" + std::to_string(options.samples) +
                             "|seed:" + std::to_string(options.seed);
  nlohmann::ordered_json object = head(scored);
  object["samples"] = options.samples;
  object["seed"] = options.seed;
  std::vector<nlohmann::ordered_json> systems;
  std::vector<std::string> columns = {"system"}, signatures;
  std::vector<std::vector<std::string>> rows;
  for (const ScoredSystem& system : scored.systems) {
    systems.push_back({{"hypothesis", system.name}});
    rows.push_back({printable(system.name)});
  }
  for (size_t m = 0; m < scored.metrics.size(); ++m) {
    const Metric& metric = *scored.metrics[m];
    std::vector<std::vector<Statistics>> sentences;
    for (const ScoredSystem& system : scored.systems) sentences.push_back(system.statistics[m]);
    const std::vector<BootstrapResult> results = paired_bootstrap(metric, sentences, options);
    const std::string key = metric.key(), signature = metric.signature(corpus, false);
    object[key + "_signature"] = signature;
    signatures.push_back(metric.name() + "|" + signature);
    for (const char* what : {"", " mean", " p"}) columns.push_back(metric.name() + what);
    for (size_t s = 0; s < results.size(); ++s) {
      const BootstrapResult& result = results[s];
      systems[s][key] = result.score;
      systems[s][key + "_mean"] = result.mean;
      systems[s][key + "_ci95"] = result.ci95;
      if (result.p_value) systems[s][key + "_p_value"] = *result.p_value;
      rows[s].push_back(fixed(result.score, format.width));
      rows[s].push_back(fixed(result.mean, format.width) + " ± " + fixed(result.ci95, format.width));
      rows[s].push_back(
          !result.p_value ? "" : fixed(*result.p_value, 4) + (*result.p_value < kSignificant ? " *" : ""));
    }
  }
  object["systems"] = systems;
  if (format.json) return print_json(object, 2);
  Table table(columns);
  for (std::vector<std::string>& row : rows) table.add(std::move(row));
  table.print(stdout);
  for (const std::string& signature : signatures) std::printf("%s\n", signature.c_str());
  std::printf("p: against the first system; * below 0.05\n");
}

}  // namespace mega::cli
