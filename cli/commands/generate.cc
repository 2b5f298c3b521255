#include "mega/infer/generation/generate.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/any_model.h"
#include "cli/commands.h"
#include "cli/commands/dialogue.h"
#include "cli/commands/generation_report.h"
#include "cli/option_flags.h"
#include "cli/program.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/line_queue.h"
#include "cli/terminal/screen.h"
#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"

namespace mega::cli {
namespace {

constexpr size_t kMostPromptBytes = size_t{1} << 28;

struct GenerateCommand {
  OpenRequest model;
  SessionRequest session;
  std::optional<std::string> prompt;
  std::string prompt_file, prompts_file, save_state;
  infer::GenerateOptions options;
  int64_t batch = 8;
  bool echo = false, json = false, interactive = false;

  void run();
  std::string read_prompt() const;
  bool is_dialogue() const;
  void write_one(const AnyLanguageModel& opened, const std::string& beginning) const;
  void write_many(const AnyLanguageModel& opened) const;
};

// A newline at the end of a prompt file was added by an editor or echo and is not part of the prompt.
std::string GenerateCommand::read_prompt() const {
  if (prompt_file.empty()) return prompt.value_or("");
  std::string text = read_stream(prompt_file, kMostPromptBytes);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// Someone at a terminal who gives no prompt wants to type it. With a state, the text goes on by itself.
bool GenerateCommand::is_dialogue() const {
  return interactive || (!prompt && prompt_file.empty() && !json && session.state.empty() &&
                         save_state.empty() && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0);
}

void GenerateCommand::write_one(const AnyLanguageModel& opened, const std::string& beginning) const {
  Dialogue dialogue(opened, options);
  require(save_state.empty() || dialogue.has_state(), "--save-state: only Mega models have a state to save");
  Screen screen;
  if (echo && !json) screen.write(beginning);
  if (is_dialogue()) {
    dialogue.talk(screen, beginning);
    InterruptGuard::forget();  // Ctrl-C stopped an answer, not the program
  } else {
    const infer::GenerateResult result = dialogue.answer(beginning, json ? nullptr : &screen);
    if (json) {
      print_json(generation_report(result, dialogue.prompt_tokens(), echo ? &beginning : nullptr), 2);
    } else {
      screen.end_line();
      dialogue.print_speed(result);
    }
  }
  if (!save_state.empty()) dialogue.save(save_state);
}

void GenerateCommand::write_many(const AnyLanguageModel& opened) const {
  LineQueue prompts(prompts_file, kMostPromptBytes);
  Screen screen;
  size_t answers = 0, tokens = 0;
  infer::GenerateManyRequest request;
  request.options = options;
  request.batch = batch;
  request.next_prompt = [&] { return prompts.next(); };
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
  const std::string beginning = read_prompt();  // before the guard: Ctrl-C ends the program here
  const InterruptGuard guard;
  if (prompts_file.empty())
    write_one(*opened, beginning);
  else
    write_many(*opened);
  if (InterruptGuard::interrupted()) throw CLI::RuntimeError(kInterrupted);
}

}  // namespace

void add_generate(CLI::App& app, const OtherModels* others) {
  auto command = std::make_shared<GenerateCommand>();
  command->model.others = others;
  CLI::App* sub = app.add_subcommand("generate", "generate text with a language model");
  sub->add_option("model", command->model.model, "model file or run directory")->required();
  CLI::Option* prompt =
      sub->add_option("--prompt", command->prompt,
                      "text to continue (default: at a terminal, --interactive; otherwise the start of a "
                      "text)");
  CLI::Option* prompt_file =
      sub->add_option("prompt_file,--prompt-file", command->prompt_file,
                      "file with the prompt, - for standard input; a final newline is ignored")
          ->type_name("FILE")
          ->excludes(prompt);
  CLI::Option* echo =
      sub->add_flag("--echo", command->echo, "print the prompt too (default: only the generated text)");
  CLI::Option* interactive = sub->add_flag(
      "--interactive", command->interactive,
      "read lines from standard input and continue the text after each; an empty line generates more; "
      "Ctrl-C stops an answer, Ctrl-D exits; at a terminal, /help lists commands");
  CLI::Option* prompts =
      sub->add_option(
             "--prompts", command->prompts_file,
             "file with one prompt per line, - for standard input; generated in batches, printed in input "
             "order; prompt n (from 0) uses seed SEED+n")
          ->type_name("FILE")
          ->excludes(prompt)
          ->excludes(prompt_file)
          ->excludes(interactive)
          ->excludes(echo);
  sub->add_option("--batch", command->batch,
                  "number of prompts generated in parallel; 1 answers each prompt before reading the next")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024))
      ->needs(prompts);
  add_flags(*sub, option_nodes(command->options));
  sub->add_option("--threads", command->model.threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* load = sub->add_option("--load-state", command->session.state,
                                      "resume from a state that --save-state wrote for this model; with "
                                      "--prompts, each prompt starts from it")
                          ->type_name("FILE");
  sub->add_option("--save-state", command->save_state,
                  "write the model's state after the text to this file, for --load-state")
      ->type_name("FILE")
      ->excludes(prompts);
  const auto set_cache = [command](const std::string& name) {
    command->session.cache = name == "bf16" ? infer::CacheType::bf16 : infer::CacheType::f32;
  };
  sub->add_option_function<std::string>(
         "--cache", set_cache,
         "type of the cached keys and values of the open chunk; bf16 halves their size and is faster late in "
         "a long chunk, at a precision of three digits")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->default_str("f32")
      ->excludes(load);
  sub->add_flag("--json", command->json,
                "print JSON: one object at the end, or one line per prompt with --prompts")
      ->excludes(interactive);
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
