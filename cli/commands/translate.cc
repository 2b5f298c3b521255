#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "cli/any_model.h"
#include "cli/commands.h"
#include "cli/commands/generation_report.h"
#include "cli/commands/shard.h"
#include "cli/option_flags.h"
#include "cli/program.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/line_queue.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/typed_lines.h"
#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/infer/translation/text_translator.h"
#include "mega/report/progress.h"

namespace mega::cli {
namespace {

struct TranslateCommand {
  OpenRequest model;
  std::vector<std::string> ensemble;
  std::string file = "-", shortlist, prefix;
  infer::TranslateOptions options;
  Shard shard;
  bool scores = false, alignment = false, json = false, interactive = false;

  void run();
  infer::TextTranslator open() const;
  bool is_dialogue() const;
  InputRange part() const;
  void translate_lines(infer::TextTranslator& translator) const;
  void talk(infer::TextTranslator& translator) const;
  void print(const infer::TranslatedLine& line, Screen& screen) const;
};

nlohmann::ordered_json translation_report(const infer::TranslatedLine& line) {
  nlohmann::ordered_json report = {{"line", line.number + 1}, {"source", line.source}};
  for (const infer::Translation& one : line.translations)
    report["translations"].push_back({{"text", one.text},
                                      {"score", one.score},
                                      {"log_probability", one.log_probability},
                                      {"tokens", one.tokens},
                                      {"alignment", one.alignment}});
  report["parts"] = line.parts;
  return report;
}

infer::TextTranslator TranslateCommand::open() const {
  AnyTranslator opened = open_translator(model, ensemble);
  const auto* input = std::get_if<TranslationInput>(&opened.signature.input.input);
  require(input != nullptr, model.model,
          " does not say how lines become tokens: expected input.kind = ", "translation");
  std::shared_ptr<const infer::Shortlist> words;
  if (!shortlist.empty()) {
    words = std::make_shared<const infer::Shortlist>(infer::Shortlist::open(shortlist));
    require(words->source_vocabulary() == opened.source_types, shortlist, ": a shortlist of ",
            words->source_vocabulary(), " source tokens, the model has ", opened.source_types,
            ": it belongs to another model");
  }
  return {opened.decoder, make_translation_texts(opened.signature, opened.source_types, opened.target_types),
          input->max_length, options, words};
}

// The text is last, so that a tab in it does no harm.
void TranslateCommand::print(const infer::TranslatedLine& line, Screen& screen) const {
  if (json) return print_json(translation_report(line));
  for (const infer::Translation& one : line.translations) {
    std::string row;
    if (options.search.nbest > 1) row += std::to_string(line.number + 1) + "\t";
    if (scores || options.search.nbest > 1) {
      char score[32];
      std::snprintf(score, sizeof score, "%.4f\t", one.score);
      row += score;
    }
    if (alignment) row += one.alignment + "\t";
    screen.write(row + one.text + "\n");
  }
}

InputRange TranslateCommand::part() const {
  if (shard.is_whole()) return {};
  const FirstReading reading(std::span(&file, 1));
  LineReader reader(file);
  for (std::string line; reader.next(line);) continue;
  return shard.range(reader.number());
}

void TranslateCommand::translate_lines(infer::TextTranslator& translator) const {
  const InputRange range = part();
  LineQueue lines(file);
  for (int64_t i = 0; i < range.begin && lines.next(); ++i) continue;
  translator.begin_at(range.begin);
  int64_t left = range.end - range.begin;
  Screen screen;
  int64_t done = 0, sentences = 0, too_long = 0;
  std::optional<Progress> progress;  // not where translations are seen
  if (isatty(STDOUT_FILENO) == 0) progress.emplace("translating", 0, "sentences");
  infer::TranslateRequest request;
  request.next_line = [&] { return left-- > 0 ? lines.next() : std::nullopt; };
  request.wait_for_more = [&] { return lines.answers_soon(); };
  request.use = [&](const infer::TranslatedLine& line) {
    print(line, screen);
    ++done;
    sentences += line.parts;
    too_long += line.too_long ? 1 : 0;
    if (progress) progress->update(sentences);
  };
  request.go_on = [] { return !InterruptGuard::interrupted(); };
  request.prefix = prefix;
  const auto start = std::chrono::steady_clock::now();
  translator.translate(request);
  progress.reset();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (too_long > 0)
    std::fprintf(stderr, "note: %s of %s lines were longer than the model reads, and translated in parts\n",
                 with_thousands(too_long).c_str(), with_thousands(done).c_str());
  std::fprintf(stderr, "[%s lines, %s sentences, %.1f sentences/s]\n", with_thousands(done).c_str(),
               with_thousands(sentences).c_str(),
               seconds > 0.0 ? static_cast<double>(sentences) / seconds : 0.0);
}

bool TranslateCommand::is_dialogue() const {
  return interactive || (file == "-" && !json && shard.is_whole() && isatty(STDIN_FILENO) != 0 &&
                         isatty(STDOUT_FILENO) != 0);
}

// At a terminal, an error ends only its turn.
void TranslateCommand::talk(infer::TextTranslator& translator) const {
  TypedLines lines("(Ctrl-D to end)");
  if (lines.are_typed()) std::fputs("Lines that you type are translated. Ctrl-D ends.\n", stderr);
  Screen screen;
  while (std::optional<std::string> line = lines.next()) {
    infer::TranslateRequest request;
    request.next_line = [&] { return std::exchange(line, std::nullopt); };
    request.use = [&](const infer::TranslatedLine& translated) { print(translated, screen); };
    request.go_on = [] { return !InterruptGuard::interrupted(); };
    request.prefix = prefix;
    try {
      translator.translate(request);
    } catch (const Error& error) {
      if (!lines.are_typed()) throw;
      std::fprintf(stderr, "%s\n", printable_lines(error.what()).c_str());
    }
  }
  InterruptGuard::forget();  // Ctrl-C stopped a translation, not the program
}

void TranslateCommand::run() {
  infer::TextTranslator translator = open();
  const InterruptGuard guard;
  if (is_dialogue())
    talk(translator);
  else
    translate_lines(translator);
  if (InterruptGuard::interrupted()) throw CLI::RuntimeError(kInterrupted);
}

}  // namespace

void add_translate(CLI::App& app, const OtherModels* others) {
  auto command = std::make_shared<TranslateCommand>();
  command->model.others = others;
  CLI::App* sub = app.add_subcommand("translate", "translate text, line by line");
  sub->add_option("model", command->model.model, "model file or run directory")->required();
  CLI::Option* file = sub->add_option("file", command->file,
                                      "text to translate, plain or compressed; - or none for standard input")
                          ->type_name("FILE");
  add_flags(*sub, option_nodes(command->options));
  sub->add_flag("--scores", command->scores,
                "print the score, a log-probability divided by the length penalty, and a tab before each "
                "translation; --nbest prints the number of the line before it");
  sub->add_flag("--alignment", command->alignment,
                "print which words are translations of which, as 0-0 1-2, and a tab before the text");
  sub->add_option("--prefix", command->prefix, "text that all translations begin with");
  sub->add_option("--shortlist", command->shortlist,
                  "allow only likely translations of the words of a batch: a file of `mega shortlist`")
      ->type_name("FILE");
  sub->add_option("--ensemble", command->ensemble,
                  "another model of the same vocabulary to translate with the first; may be repeated")
      ->allow_extra_args(false)
      ->type_name("MODEL");
  sub->add_option("--threads", command->model.threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* interactive = sub->add_flag("--interactive", command->interactive,
                                           "translate lines as they are typed; the default at a terminal")
                                 ->excludes(file);
  add_shard(*sub, command->shard)->excludes(interactive);
  sub->add_flag("--json", command->json, "print one JSON object per line")->excludes(interactive);
  sub->callback([command, sub] {
    infer::SearchOptions& search = command->options.search;
    if (sub->count("--beam") == 0) search.beam = std::max(search.beam, search.nbest);
    command->run();
  });
}

}  // namespace mega::cli
