#include "mega/infer/generation/generate.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/any_model.h"
#include "cli/commands.h"
#include "cli/dialogue.h"
#include "cli/generation_report.h"
#include "cli/interrupt.h"
#include "cli/option_flags.h"
#include "cli/screen.h"
#include "mega/base/error.h"
#include "mega/base/stream.h"
#include "mega/base/strings.h"

namespace mega::cli {
namespace {

constexpr size_t kMostPromptBytes = size_t{1} << 28;

struct GenerateCommand {
  OpenRequest model;
  SessionRequest session;
  std::string prompt, prompt_file, prompts_file, save_state;
  infer::GenerateOptions options;
  int64_t batch = 8;
  bool echo = false, json = false, interactive = false;

  void run();
  std::string read_prompt() const;
  void write_one(const AnyLanguageModel& opened, const std::string& beginning) const;
  void write_many(const AnyLanguageModel& opened) const;
};

// Of a file, the newline at its end is the editor's or echo's, and not of the prompt.
std::string GenerateCommand::read_prompt() const {
  if (prompt_file.empty()) return prompt;
  std::string text = read_stream(prompt_file, kMostPromptBytes);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void GenerateCommand::write_one(const AnyLanguageModel& opened, const std::string& beginning) const {
  const std::unique_ptr<infer::Predictor> predictor = opened.make();
  const auto* kept = dynamic_cast<const infer::Session*>(predictor.get());
  require(save_state.empty() || kept != nullptr, "--save-state: only texts of Mega models can be saved");
  Dialogue dialogue(*predictor, opened.tokenizer(), options);
  Screen screen;
  if (echo && !json) screen.write(beginning);
  if (interactive) {
    dialogue.talk(screen, beginning);
    InterruptGuard::forget();  // it ended an answer, not the program
  } else {
    const infer::GenerateResult result = dialogue.answer(beginning, json ? nullptr : &screen);
    if (json) {
      print_json(generation_report(result, dialogue.prompt_tokens(), echo ? &beginning : nullptr), 2);
    } else {
      screen.end_line();
      dialogue.print_speed(result);
    }
  }
  if (!save_state.empty()) kept->save(save_state);
}

void GenerateCommand::write_many(const AnyLanguageModel& opened) const {
  LineReader prompts(prompts_file, kMostPromptBytes);
  Screen screen;
  size_t answers = 0, tokens = 0;
  infer::GenerateManyRequest request;
  request.options = options;
  request.batch = batch;
  request.next_prompt = [&]() -> std::optional<std::string> {
    std::string line;
    return prompts.next(line) ? std::optional(line) : std::nullopt;
  };
  request.use = [&](const infer::PromptAnswer& answer) {
    warn_of_unknown(answer.prompt_tokens);
    if (json) {
      print_json(generation_report(answer.result, answer.prompt_tokens.size(), &answer.prompt));
    } else {
      screen.write((answers > 0 ? "\n==> " : "==> ") + answer.prompt + " <==\n" + answer.result.text + "\n");
    }
    ++answers;
    tokens += answer.result.tokens.size();
  };
  request.go_on = [] { return !InterruptGuard::interrupted(); };
  const auto start = std::chrono::steady_clock::now();
  generate_many(opened, opened.tokenizer(), request);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::fprintf(stderr, "[%s prompts, %s tokens, %s]\n", with_thousands(static_cast<int64_t>(answers)).c_str(),
               with_thousands(static_cast<int64_t>(tokens)).c_str(), token_rate(tokens, seconds).c_str());
}

void GenerateCommand::run() {
  const std::unique_ptr<AnyLanguageModel> opened = open_language_model(model, session);
  const std::string beginning = read_prompt();  // which Ctrl-C ends as it ends any program
  const InterruptGuard guard;
  if (prompts_file.empty())
    write_one(*opened, beginning);
  else
    write_many(*opened);
  constexpr int kInterrupted = 130;  // as a shell says it of SIGINT
  if (InterruptGuard::interrupted()) throw CLI::RuntimeError(kInterrupted);
}

}  // namespace

void add_generate(CLI::App& app, const OtherModels* others) {
  auto command = std::make_shared<GenerateCommand>();
  command->model.others = others;
  CLI::App* sub = app.add_subcommand("generate", "write text with a language model");
  sub->add_option("model", command->model.model, "model file or run directory")->required();
  CLI::Option* prompt =
      sub->add_option("--prompt", command->prompt, "text to go on from (default: the beginning of a text)");
  CLI::Option* prompt_file =
      sub->add_option("prompt_file,--prompt-file", command->prompt_file,
                      "file with the prompt, - is standard input; a newline at its end does not count")
          ->excludes(prompt);
  CLI::Option* echo =
      sub->add_flag("--echo", command->echo, "print the prompt too (default: only what the model writes)");
  CLI::Option* interactive = sub->add_flag(
      "--interactive", command->interactive,
      "go on after each line that is typed; an empty one: write more; Ctrl-C stops an answer, Ctrl-D ends");
  CLI::Option* prompts =
      sub->add_option(
             "--prompts", command->prompts_file,
             "file of many prompts, one a line; - is standard input. Written side by side, printed in "
             "their order, number n (from 0) as --seed SEED+n writes it")
          ->excludes(prompt)
          ->excludes(prompt_file)
          ->excludes(interactive)
          ->excludes(echo);
  sub->add_option("--batch", command->batch,
                  "texts written side by side; 1 answers each prompt before the next is read")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024))
      ->needs(prompts);
  add_flags(*sub, option_nodes(command->options));
  sub->add_option("--threads", command->model.threads, "threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* load = sub->add_option(
      "--load-state", command->session.state,
      "go on with a text of this model that --save-state wrote; with --prompts, each after that text");
  sub->add_option("--save-state", command->save_state,
                  "keep what the model knows of the text in this file, to go on with later")
      ->excludes(prompts);
  const auto set_cache = [command](const std::string& name) {
    command->session.cache = name == "bf16" ? infer::CacheType::bf16 : infer::CacheType::f32;
  };
  sub->add_option_function<std::string>(
         "--cache", set_cache,
         "how keys and values of the open chunk are kept; bf16 halves them, which is faster late in a long "
         "chunk, and keeps three digits")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->default_str("f32")
      ->excludes(load);
  sub->add_flag("--json", command->json,
                "for programs: an object at the end, or one a line for each of --prompts")
      ->excludes(interactive);
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
