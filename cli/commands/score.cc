#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "cli/any_model.h"
#include "cli/commands.h"
#include "cli/commands/score_pairs.h"
#include "cli/commands/shard.h"
#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/data/corpus/corpus.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"
#include "mega/text/tokens.h"

namespace mega::cli {
namespace {

struct ScoreCommand {
  OpenRequest model;
  PairArguments texts;  // or, without --pairs, the files alone
  Shard shard;
  bool json = false, tokens = false, pairs = false;

  void run();
};

std::string with_uncertainty(const infer::Estimate& estimate) {
  char text[64];
  if (estimate.uncertainty)
    std::snprintf(text, sizeof text, "%.4f ± %.4f", estimate.value, *estimate.uncertainty);
  else
    std::snprintf(text, sizeof text, "%.4f", estimate.value);
  return text;
}

// The metrics of all texts, as a table and as JSON.
class ScoreList {
 public:
  void add(const std::string& name, const infer::ScoreResult& score) {
    table_.add({name, with_thousands(score.tokens), with_thousands(score.counts.unknown),
                with_uncertainty(score.perplexity), with_uncertainty(score.bits_per_character),
                with_uncertainty(score.bits_per_byte)});
    nlohmann::ordered_json row = {
        {"text", name},
        {"tokens", score.tokens},
        {"unknown", score.counts.unknown},
        {"characters", score.counts.characters},
        {"bytes", score.counts.bytes},
        {"log_probability", -score.nats_per_token.value * static_cast<double>(score.tokens)}};
    const auto set = [&](const std::string& key, const infer::Estimate& estimate) {
      row[key] = estimate.value;
      if (estimate.uncertainty) row[key + "_ci95"] = *estimate.uncertainty;
    };
    set("perplexity", score.perplexity);
    set("bits_per_character", score.bits_per_character);
    set("bits_per_byte", score.bits_per_byte);
    rows_.push_back(std::move(row));
  }

  std::string plain() const { return table_.plain(); }
  std::string json() const { return json_text(rows_, 2) + "\n"; }

 private:
  Table table_{{"text", "tokens", "unknown", "perplexity", "bits per character", "bits per byte"}};
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

// Escapes a token to fit on one line and in one column: as in a JSON string; a byte of invalid UTF-8 as \xC3.
std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "\\x%02X", static_cast<unsigned char>(text.front()));
      result += byte;
    } else {
      const std::string quoted = json_text(nlohmann::json(text.substr(0, length)));
      const std::string_view inside = std::string_view(quoted).substr(1, quoted.size() - 2);
      result += inside == "\\\"" ? "\"" : inside;  // not inside quotes: no escape needed
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

// Prints each token with its log-probability as the text is scored.
class TokenPrinter {
 public:
  TokenPrinter(const Tokenizer& tokenizer, const data::TokenView& text)
      : tokenizer_(tokenizer), text_(text) {}

  void print(int64_t begin, std::span<const float> log_probabilities) {
    std::vector<int32_t> tokens(log_probabilities.size());
    text_.file->copy(text_.begin + begin, std::ssize(tokens), tokens.data());
    for (size_t i = 0; i < tokens.size(); ++i) {
      const int32_t token = tokens[i];
      std::printf("%s\t%.6g\n", escaped(tokenizer_.text(token, begins_line_)).c_str(),
                  static_cast<double>(log_probabilities[i]));
      begins_line_ = token == kEnd || tokenizer_.ends_inside_word(token);
    }
    require(std::ferror(stdout) == 0, "cannot write to standard output");
  }

 private:
  const Tokenizer& tokenizer_;
  const data::TokenView& text_;
  bool begins_line_ = true;
};

void ScoreCommand::run() {
  if (pairs) return score_pairs(model, texts, shard, json);
  const std::unique_ptr<AnyLanguageModel> opened = open_language_model(model);
  if (texts.files.empty()) texts.files.push_back("-");
  const InputRange part = shard.range(std::ssize(texts.files));  // a text is one stream: it is never divided
  const std::span<const std::string> files =
      std::span(texts.files)
          .subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.end - part.begin));

  ScoreList list;
  infer::TextScore all;
  for (const std::string& file : files) {
    const data::TokenView text = data::tokenize_once(file, opened->tokenizer());
    TokenPrinter printer(opened->tokenizer(), text);
    std::optional<Progress> progress;  // not with --tokens, where the output shows progress
    if (!tokens) progress.emplace("scoring " + text.name, text.size(), "tokens");
    const auto scored = [&](int64_t begin, std::span<const float> log_probabilities) {
      all.add(log_probabilities, {});
      if (progress) progress->update(begin + std::ssize(log_probabilities));
      if (tokens) printer.print(begin, log_probabilities);
    };
    list.add(text.name, opened->score(text, scored));
    all.add({}, text.counts);
  }
  if (files.size() > 1 && shard.is_whole()) list.add("all", all.result());
  // Token output is parsed by programs: keep the table out of it.
  std::fputs(json ? list.json().c_str() : list.plain().c_str(), tokens ? stderr : stdout);
}

}  // namespace

void add_score(CLI::App& app, const OtherModels* others) {
  auto command = std::make_shared<ScoreCommand>();
  command->model.others = others;
  CLI::App* sub =
      app.add_subcommand("score", "score texts with a language model, or translations with a translator");
  sub->add_option("model", command->model.model, "model file or run directory")->required();
  sub->add_option("files", command->texts.files,
                  "text files, plain or compressed, each scored as one stream; - or none for standard "
                  "input");
  CLI::Option* tokens =
      sub->add_flag("--tokens", command->tokens,
                    "print each token, a tab and its natural log-probability; metrics go to standard error");
  sub->add_flag("--pairs", command->pairs,
                "with a translator: print the natural log-probability of each target, given its source; the "
                "files are a table of both (tsv, csv, jsonl), or one of each")
      ->excludes(tokens);
  add_pair_columns(*sub, command->texts);
  sub->add_option("--threads", command->model.threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  add_shard(*sub, command->shard);
  sub->add_flag("--json", command->json, "print JSON");
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
