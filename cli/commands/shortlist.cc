#include "mega/infer/translation/shortlist.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/commands/token_pairs.h"
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
  std::vector<std::string> files;
  std::string out;
  infer::ShortlistOptions options;

  void run() const;
};

// What a restriction to the shortlist costs: target tokens that it does not allow, sentence by sentence.
class Missed {
 public:
  void add(const TokenPair& pair, const infer::Shortlist& shortlist) {
    const std::vector<Token> allowed = shortlist.candidates({&pair.source, 1});
    for (const Token token : pair.target)
      missed_ += std::binary_search(allowed.begin(), allowed.end(), token) ? 0 : 1;
    tokens_ += std::ssize(pair.target);
    allowed_ += std::ssize(allowed);
    ++pairs_;
  }

  void print() const {
    if (tokens_ == 0) return;
    std::printf("%.2f %% of %s target tokens are not allowed; %s of a sentence are, on average\n",
                100.0 * static_cast<double>(missed_) / static_cast<double>(tokens_),
                with_thousands(tokens_).c_str(), with_thousands(allowed_ / pairs_).c_str());
  }

 private:
  int64_t pairs_ = 0, tokens_ = 0, missed_ = 0, allowed_ = 0;
};

void ShortlistCommand::run() const {
  const AnyTranslator translator = open_translator(model);
  infer::LexicalModel lexical(translator.source_types, translator.target_types, options);
  constexpr size_t kChecked = 2000;
  std::vector<TokenPair> checked;  // the first ones
  std::optional<Progress> progress;
  progress.emplace("reading", 0, "pairs");
  TokenPairReader reader(files, translator);
  int64_t read = 0;
  for (TokenPair pair; lexical.pairs() < options.sentences && reader.next(pair); progress->update(++read)) {
    lexical.add(pair.source, pair.target);
    if (checked.size() < kChecked) checked.push_back(pair);
  }
  progress.reset();
  const infer::Shortlist shortlist = lexical.learn();
  shortlist.save(out);
  std::printf("%s: likely translations of %s tokens, from %s pairs\n", printable(out).c_str(),
              with_thousands(shortlist.source_vocabulary()).c_str(), with_thousands(lexical.pairs()).c_str());
  Missed missed;
  for (const TokenPair& pair : checked) missed.add(pair, shortlist);
  missed.print();
}

}  // namespace

void add_shortlist(CLI::App& app, const OtherModels* others) {
  auto command = std::make_shared<ShortlistCommand>();
  command->model.others = others;
  CLI::App* sub = app.add_subcommand(
      "shortlist", "learn likely translations of words, for a faster `translate --shortlist`");
  sub->add_option("model", command->model.model, "model file or run directory of a translator")->required();
  sub->add_option("files", command->files,
                  "parallel text, such as that of training: a table of sources and targets (tsv, csv, "
                  "jsonl), or a file of each")
      ->required()
      ->expected(1, 2)
      ->type_name("FILE");
  sub->add_option("--out", command->out, "file to write")->required()->type_name("FILE");
  add_flags(*sub, option_nodes(command->options));
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
