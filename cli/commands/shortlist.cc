#include "mega/infer/translation/shortlist.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/commands/token_pairs.h"
#include "cli/commands/translation_quality.h"
#include "cli/option_flags.h"
#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/infer/translation/lexical_model.h"
#include "mega/report/progress.h"

namespace mega::cli {
namespace {

struct ShortlistCommand {
  OpenRequest model;
  PairArguments texts;
  std::string out;
  infer::ShortlistOptions options;
  int64_t check = 200;

  void run() const;
  void print_cost(const AnyTranslator& translator, const std::vector<TokenPair>& pairs,
                  const infer::Shortlist& shortlist) const;
};

// Of each so many pairs, one is not learnt from.
constexpr int64_t kEvery = 20;

void print_missed(const std::vector<TokenPair>& pairs, const infer::Shortlist& shortlist) {
  int64_t tokens = 0, missed = 0, allowed = 0;
  for (const TokenPair& pair : pairs) {
    const std::vector<Token> some = shortlist.candidates({&pair.source, 1});
    for (const Token token : pair.target)
      missed += std::binary_search(some.begin(), some.end(), token) ? 0 : 1;
    tokens += std::ssize(pair.target);
    allowed += std::ssize(some);
  }
  std::printf("%.2f %% of %s target tokens are not allowed; %s of a sentence are, on average\n",
              100.0 * static_cast<double>(missed) / static_cast<double>(tokens),
              with_thousands(tokens).c_str(), with_thousands(allowed / std::ssize(pairs)).c_str());
}

void ShortlistCommand::print_cost(const AnyTranslator& translator, const std::vector<TokenPair>& pairs,
                                  const infer::Shortlist& shortlist) const {
  if (pairs.empty()) return;
  std::printf("on %s other pairs:\n", with_thousands(std::ssize(pairs)).c_str());
  print_missed(pairs, shortlist);
  std::vector<data::Pair> written;
  for (const TokenPair& pair : pairs) written.push_back(pair.written);
  std::optional<Progress> progress;
  progress.emplace("translating", 2 * std::ssize(pairs), "sentences");
  int64_t done = 0;
  struct Result {
    double bleu, sentences_per_second;
  };
  const auto translate = [&](const std::shared_ptr<const infer::Shortlist>& words) -> Result {
    const auto start = std::chrono::steady_clock::now();
    const double bleu = translation_bleu(
        translator, written, [&] { progress->update(++done); }, words);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {bleu, static_cast<double>(std::ssize(pairs)) / seconds};
  };
  const Result without = translate(nullptr);
  const Result with = translate(std::make_shared<const infer::Shortlist>(shortlist));
  progress.reset();
  std::printf("BLEU %.2f without, %.2f with it; %.1f and %.1f sentences/s\n", without.bleu, with.bleu,
              without.sentences_per_second, with.sentences_per_second);
}

void ShortlistCommand::run() const {
  const AnyTranslator translator = open_translator(model);
  infer::LexicalModel lexical(translator.source_types, translator.target_types, options);
  std::vector<TokenPair> checked;
  std::optional<Progress> progress;
  progress.emplace("reading", 0, "pairs");
  TokenPairReader reader(texts, translator);
  int64_t read = 0;
  for (TokenPair pair; lexical.pairs() < options.sentences && reader.next(pair); progress->update(read)) {
    if (++read % kEvery == 0 && std::ssize(checked) < check)
      checked.push_back(pair);
    else
      lexical.add(pair.source, pair.target);
  }
  progress.reset();
  const infer::Shortlist shortlist = lexical.learn();
  shortlist.save(out);
  std::printf("%s: likely translations of %s tokens, from %s pairs\n", printable(out).c_str(),
              with_thousands(shortlist.source_vocabulary()).c_str(), with_thousands(lexical.pairs()).c_str());
  print_cost(translator, checked, shortlist);
}

}  // namespace

void add_shortlist(CLI::App& app, const OtherModels* others) {
  auto command = std::make_shared<ShortlistCommand>();
  command->model.others = others;
  CLI::App* sub = app.add_subcommand(
      "shortlist", "learn likely translations of words, for a faster `translate --shortlist`");
  sub->add_option("model", command->model.model, "model file or run directory of a translator")->required();
  sub->add_option("files", command->texts.files,
                  "parallel text, such as that of training: a table of sources and targets (tsv, csv, "
                  "jsonl), or a file of each")
      ->required()
      ->expected(1, 2)
      ->type_name("FILE");
  add_pair_columns(*sub, command->texts);
  sub->add_option("--out", command->out, "file to write")->required()->type_name("FILE");
  add_flags(*sub, option_nodes(command->options));
  sub->add_option(
         "--check", command->check,
         "pairs that are not learnt from but translated, with and without the shortlist, to print what "
         "it costs; 0: none (default: 200)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--threads", command->model.threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
