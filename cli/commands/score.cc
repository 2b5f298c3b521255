#include <algorithm>
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
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/files/temporary_folder.h"
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
  std::vector<std::string> written;
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

// The tokens of a text of the command line.
data::TokenView tokenized(const std::string& text, const std::string& name, const Tokenizer& tokenizer) {
  require(!text.empty(), name, ": an empty text");
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "text";
  write_file(path, text);
  data::TokenView view = data::tokenize_once(path, tokenizer);
  view.name = name;
  return view;
}

// Scores texts in their order and collects their metrics. Short ones wait for each other and are read side by
// side, each by a thread of its own; a long one is read by all threads together.
class Scorer {
 public:
  Scorer(AnyLanguageModel& model, bool tokens) : model_(model), tokens_(tokens) {}

  void add(data::TokenView text) {
    // The tokens of a text are printed as they are scored.
    if (tokens_ || text.size() > kShort) {
      finish();
      return add_alone(text);
    }
    waiting_tokens_ += text.size();
    waiting_.push_back(std::move(text));
    if (waiting_.size() >= kMostTexts || waiting_tokens_ >= kMostTokens) finish();
  }

  // Scores the texts that wait.
  void finish() {
    if (waiting_.size() == 1) {
      add_alone(waiting_.front());
    } else if (!waiting_.empty()) {
      Progress progress("scoring", std::ssize(waiting_), "texts");
      const std::vector<std::vector<float>> scores = model_.score_many(waiting_);
      progress.update(std::ssize(waiting_));
      for (size_t i = 0; i < scores.size(); ++i) {
        infer::TextScore one;
        one.add(scores[i], waiting_[i].counts);
        list_.add(waiting_[i].name, one.result());
        all_.add(scores[i], waiting_[i].counts);
      }
    }
    waiting_.clear();
    waiting_tokens_ = 0;
  }

  // With a last row for all texts together, if asked.
  const ScoreList& list(bool together) {
    finish();
    if (together) list_.add("all", all_.result());
    return list_;
  }

 private:
  static constexpr int64_t kShort = 1 << 16, kMostTokens = 1 << 20;
  static constexpr size_t kMostTexts = 256;  // files that are mapped at the same time

  void add_alone(const data::TokenView& text) {
    TokenPrinter printer(model_.tokenizer(), text);
    std::optional<Progress> progress;  // not with --tokens, where the output shows progress
    if (!tokens_) progress.emplace("scoring " + text.name, text.size(), "tokens");
    const auto scored = [&](int64_t begin, std::span<const float> log_probabilities) {
      all_.add(log_probabilities, {});
      if (progress) progress->update(begin + std::ssize(log_probabilities));
      if (tokens_) printer.print(begin, log_probabilities);
    };
    list_.add(text.name, model_.score(text, scored));
    all_.add({}, text.counts);
  }

  AnyLanguageModel& model_;
  bool tokens_;
  std::vector<data::TokenView> waiting_;
  int64_t waiting_tokens_ = 0;
  ScoreList list_;
  infer::TextScore all_;
};

void ScoreCommand::run() {
  require(!pairs || written.empty(), "--text is for language models, --pairs for translators");
  if (pairs) return score_pairs(model, texts, shard, json);
  const std::unique_ptr<AnyLanguageModel> opened = open_language_model(model);
  if (texts.files.empty() && written.empty()) texts.files.push_back("-");
  const int64_t count = std::ssize(written) + std::ssize(texts.files);
  const InputRange part = shard.range(count);  // a text is one stream: it is never divided
  Scorer scorer(*opened, tokens);
  for (int64_t i = part.begin; i < std::min(part.end, count); ++i) {
    const int64_t file = i - std::ssize(written);
    scorer.add(file < 0 ? tokenized(written[static_cast<size_t>(i)], "--text:" + std::to_string(i + 1),
                                    opened->tokenizer())
                        : data::tokenize_once(texts.files[static_cast<size_t>(file)], opened->tokenizer()));
  }
  const ScoreList& list = scorer.list(count > 1 && shard.is_whole());
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
  sub->add_option("--text", command->written, "text to score, before the files; may be repeated")
      ->allow_extra_args(false);
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
