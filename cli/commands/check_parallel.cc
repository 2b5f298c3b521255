#include "cli/commands/check_parallel.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/options/options_io.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/data/parallel/pair_suspicions.h"
#include "mega/data/parallel/recipe_pairs.h"
#include "mega/data/summary.h"
#include "mega/report/table.h"

namespace mega::cli {
namespace {

data::LengthSummary lengths_of(const data::TokenLines& side) {
  std::vector<int64_t> lengths;
  lengths.reserve(static_cast<size_t>(side.size()));
  side.for_each_length([&](int64_t length) { lengths.push_back(length); });
  return data::summarize_lengths(std::move(lengths));
}

// "en", or "source" where no name says the language.
std::string side_name(const std::string& language, const char* side) {
  return language.empty() ? side : printable(language);
}

nlohmann::ordered_json report_of(const data::TokenLines& side) {
  const data::LengthSummary lengths = lengths_of(side);
  const data::TokenView& text = side.text();
  return {{"tokens", text.size()},
          {"unknown", text.counts.unknown},
          {"characters", text.counts.characters},
          {"shortest", lengths.shortest},
          {"median", lengths.median},
          {"p95", lengths.p95},
          {"longest", lengths.longest}};
}

void print_json(const data::ParallelCorpus& corpus, const std::vector<std::string>& suspicions,
                const std::vector<data::Problem>& problems) {
  nlohmann::ordered_json report = {{"source_language", corpus.languages.source},
                                   {"target_language", corpus.languages.target},
                                   {"checksum", corpus.checksum},
                                   {"source_types", corpus.tokenizers.source->size()},
                                   {"target_types", corpus.tokenizers.target->size()}};
  for (const data::PairPart* part : corpus.parts()) {
    nlohmann::ordered_json entry = {{"name", part->name()}};
    entry.update(options_to_json(part->counts));
    entry["source"] = report_of(part->source);
    entry["target"] = report_of(part->target);
    report["parts"].push_back(std::move(entry));
  }
  report["warnings"] = suspicions;
  report["problems"] = corpus.problems;
  for (const data::Problem& problem : problems)
    report["first_problems"].push_back({{"where", problem.where}, {"what", problem.what}});
  std::printf("%s\n", json_text(report, 2).c_str());
}

void print_tables(const data::ParallelCorpus& corpus, const std::string& path,
                  const std::vector<std::string>& suspicions, const std::vector<data::Problem>& problems) {
  const std::string source = side_name(corpus.languages.source, "source");
  const std::string target = side_name(corpus.languages.target, "target");
  const int64_t types = corpus.tokenizers.source->size();
  std::printf("%s: %s to %s, %s token types%s, checksum %s\n\n", printable(path).c_str(), source.c_str(),
              target.c_str(), with_thousands(types).c_str(),
              corpus.tokenizers.source == corpus.tokenizers.target
                  ? ""
                  : (" and " + with_thousands(corpus.tokenizers.target->size())).c_str(),
              corpus.checksum.c_str());
  Table table({"part", "pairs", "side", "tokens", "unknown", "shortest", "median", "95 %", "longest"});
  for (const data::PairPart* part : corpus.parts()) {
    for (const data::TokenLines* side : {&part->source, &part->target}) {
      const bool first = side == &part->source;
      const data::LengthSummary lengths = lengths_of(*side);
      table.add({first ? printable(part->name()) : "", first ? with_thousands(part->size()) : "",
                 first ? source : target, with_thousands(side->text().size()),
                 with_thousands(side->text().counts.unknown), with_thousands(lengths.shortest),
                 with_thousands(lengths.median), with_thousands(lengths.p95),
                 with_thousands(lengths.longest)});
    }
  }
  std::fputs(table.plain().c_str(), stdout);
  if (const data::PairCounts& counts = corpus.train.counts; counts.left_out() > 0)
    std::printf("\n%s of %s pairs are not trained on: %s with an empty side, %s too long, %s unbalanced\n",
                with_thousands(counts.left_out()).c_str(), with_thousands(counts.read()).c_str(),
                with_thousands(counts.empty).c_str(), with_thousands(counts.too_long).c_str(),
                with_thousands(counts.unbalanced).c_str());
  if (!suspicions.empty()) std::printf("\n");
  for (const std::string& suspicion : suspicions) std::printf("warning: %s\n", printable(suspicion).c_str());
  if (!problems.empty())
    std::printf("\n%s files or rows cannot be used:\n", with_thousands(corpus.problems).c_str());
  for (const data::Problem& problem : problems)
    std::printf("  %s: %s\n", printable(problem.where).c_str(), printable(problem.what).c_str());
}

}  // namespace

void check_parallel_text(Recipe recipe, bool json) {
  const bool skips = recipe.data.skip_broken;
  recipe.data.skip_broken = true;  // report every problem, not just the first
  const data::ParallelCorpus corpus = load_parallel(data::parallel_request(recipe));
  const std::vector<std::string> suspicions = find_suspicions(corpus);
  const std::vector<data::Problem> problems = list_problems(corpus);
  if (json)
    print_json(corpus, suspicions, problems);
  else
    print_tables(corpus, recipe.data.path, suspicions, problems);
  require(skips || corpus.problems == 0, recipe.data.path,
          ": `mega train` would stop: ", with_thousands(corpus.problems),
          corpus.problems == 1 ? " file or row" : " files or rows",
          " cannot be used: repair them, or leave them out with --set data.skip_broken=true");
}

}  // namespace mega::cli
