#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>

#include "cli/commands.h"
#include "cli/commands/bleu_report.h"
#include "cli/option_flags.h"
#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/printable.h"

namespace mega::cli {
namespace {

struct BleuCommand {
  std::vector<std::string> references, compare;
  std::string hypothesis = "-";
  std::vector<std::string> metrics = {"bleu"};
  MetricOptions options;
  BootstrapOptions bootstrap;
  ScoreFormat format;
  bool sentence = false;

  void run();
};

// A file that was read: its name, for people, and its lines.
struct TextLines {
  std::string name;
  std::vector<std::string> lines;
};

TextLines read_lines(const std::string& path) {
  TextLines text{path == "-" ? "standard input" : path, {}};
  LineReader reader(path);
  for (std::string line; reader.next(line);) text.lines.push_back(line);
  return text;
}

std::string length_text(const TextLines& text) {
  const size_t count = text.lines.size();
  return printable(text.name) + " has " + std::to_string(count) + (count == 1 ? " line" : " lines");
}

// All must be as long as the first.
std::vector<TextLines> read_parallel(std::span<const std::string> paths) {
  std::vector<TextLines> texts;
  for (const std::string& path : paths) {
    texts.push_back(read_lines(path));
    require(texts.back().lines.size() == texts.front().lines.size(), length_text(texts.front()), ", ",
            length_text(texts.back()), ": line by line, they must be translations of the same sentence");
  }
  require(!texts.front().lines.empty(), printable(texts.front().name),
          " is empty: there is nothing to score");
  return texts;
}

// What is tokenised twice has a score that compares with nothing.
void warn_if_tokenized(const TextLines& text, BleuTokens tokenize) {
  constexpr int64_t kMany = 100;
  if (tokenize != BleuTokens::v13a && tokenize != BleuTokens::intl) return;
  const int64_t count = std::count_if(text.lines.begin(), text.lines.end(),
                                      [](const std::string& line) { return line.ends_with(" ."); });
  if (count < kMany) return;
  std::fprintf(
      stderr,
      "note: %lld lines of %s end in \" .\", as tokenised text does; BLEU is defined on text as people "
      "write it. For tokens there is --multi-bleu.\n",
      static_cast<long long>(count), printable(text.name).c_str());
}

void BleuCommand::run() {
  if (format.multi_bleu) {
    require(metrics == std::vector<std::string>{"bleu"}, "--multi-bleu is BLEU: leave --metric out");
    options.tokenize = BleuTokens::multi_bleu;
    options.smooth = BleuSmoothing::none;
  }
  ScoredTranslations scored;
  for (const std::string& name : metrics)
    scored.metrics.push_back(make_metric(parse_enum<MetricKind>(name), options));

  std::vector<std::string> paths = references;
  paths.push_back(hypothesis);
  paths.insert(paths.end(), compare.begin(), compare.end());
  require(
      std::count(paths.begin(), paths.end(), "-") <= 1,
      "standard input can be read only once: name the other file; that of the hypothesis by --hypothesis");
  const std::vector<TextLines> texts = read_parallel(paths);

  std::vector<std::vector<std::string>> truth;
  for (size_t i = 0; i < references.size(); ++i) {
    scored.references.push_back(texts[i].name);
    truth.push_back(texts[i].lines);
  }
  scored.lines = truth.front().size();
  for (size_t i = references.size(); i < texts.size(); ++i) {
    warn_if_tokenized(texts[i], options.tokenize);
    ScoredSystem system{texts[i].name, {}};
    for (const auto& metric : scored.metrics)
      system.statistics.push_back(corpus_statistics(*metric, texts[i].lines, truth));
    scored.systems.push_back(std::move(system));
  }

  if (sentence)
    print_sentence_scores(scored, format);
  else if (!compare.empty())
    print_comparison(scored, bootstrap, format);
  else
    print_scores(scored, format);
}

}  // namespace

void add_bleu(CLI::App& app) {
  auto command = std::make_shared<BleuCommand>();
  CLI::App* sub =
      app.add_subcommand("bleu", "score translations against references: BLEU, chrF, TER; compare systems");
  sub->add_option(
         "references", command->references,
         "files of reference translations, one per line, plain or compressed; the hypotheses come from "
         "standard input")
      ->required();
  sub->add_option("--hypothesis", command->hypothesis,
                  "file of translations to score, in place of standard input")
      ->type_name("FILE");
  sub->add_option("--metric", command->metrics, "comma-separated metrics: bleu, chrf, chrf++, ter")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str()
      ->check(CLI::IsMember(enum_names<MetricKind>()));
  add_flags(*sub, option_nodes(command->options));
  sub->add_flag("--multi-bleu", command->format.multi_bleu,
                "BLEU of text that is tokenised already, as multi-bleu.perl prints it")
      ->excludes("--tokenize")
      ->excludes("--smooth");
  CLI::Option* sentence = sub->add_flag("--sentence", command->sentence, "print a score for each line");
  sub->add_option("--compare", command->compare,
                  "files with translations of other systems: compare them with the first by paired bootstrap "
                  "resampling")
      ->type_name("FILE")
      ->excludes(sentence);
  add_flags(*sub, option_nodes(command->bootstrap));
  sub->add_option("--width", command->format.width, "digits after the point")
      ->capture_default_str()
      ->check(CLI::Range(0, 12));
  sub->add_flag("--json", command->format.json, "print JSON; with --sentence an object per line");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
