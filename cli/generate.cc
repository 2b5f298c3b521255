#include "mega/infer/generate.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/model_argument.h"
#include "cli/option_flags.h"
#include "mega/base/error.h"
#include "mega/base/stream.h"
#include "mega/base/text.h"
#include "mega/config/tokens.h"
#include "mega/models/token_predictor.h"
#include "mega/ops/runtime.h"
#include "mega/train/run.h"

namespace mega::cli {
namespace {

struct GenerateCommand {
  std::string model, prompt, prompt_file, device = "cpu";
  infer::GenerateOptions options;
  int threads = 1;  // a token at a time is too little work to share: waiting for each other costs more
  bool echo = false, json = false, interactive = false;

  void run();
  std::string read_prompt() const;
};

// Of a file, the newline at its end is the editor's or echo's, and not of the prompt.
std::string GenerateCommand::read_prompt() const {
  if (prompt_file.empty()) return prompt;
  constexpr size_t kMostBytes = size_t{1} << 28;
  std::string text = read_stream(prompt_file, kMostBytes);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// Text of a model is as little to be trusted as any: on a terminal, it must not move the cursor.
std::string without_controls(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      safe += {'^', static_cast<char>(byte ^ 0x40)};
    } else {
      safe += c;
    }
  }
  return safe;
}

// Standard output, where text appears as soon as it is written.
class Screen {
 public:
  void write(std::string_view text) {
    if (text.empty()) return;
    const std::string shown = terminal_ ? without_controls(text) : std::string(text);
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    require(std::fflush(stdout) == 0, "standard output: cannot be written to");
    in_line_ = text.back() != '\n';
  }
  // So that what comes next on a terminal stands on a line of its own.
  void end_line() {
    if (terminal_ && in_line_) write("\n");
  }

 private:
  bool terminal_ = isatty(STDOUT_FILENO) != 0;
  bool in_line_ = false;
};

std::string rate(size_t tokens, double seconds) {
  char text[48];
  const double rate = seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
  std::snprintf(text, sizeof text, rate < 100.0 ? "%.1f tokens/s" : "%.0f tokens/s", rate);
  return text;
}

// A text that user and model write in turns.
class Dialogue {
 public:
  Dialogue(const GenerateCommand& command, const train::SavedLanguageModel& saved, torch::Device device)
      : options_(command.options),
        tokenizer_(*saved.tokenizer),
        predictor_(saved.model, device, sliding_window(saved.options)) {}

  // Goes on after the text, which follows what was written before; on the screen, if there is one.
  infer::GenerateResult answer(std::string_view text, Screen* screen) {
    const std::vector<int32_t> tokens = tokenizer_.encode(text);
    warn_of_unknown(tokens);
    const infer::GenerateResult result =
        generate(predictor_, tokenizer_, tokens, options_, [&](std::string_view piece) {
          if (screen != nullptr) screen->write(piece);
          return !InterruptGuard::interrupted();
        });
    ++options_.sampler.seed;  // another answer draws anew
    for (const auto* read : {&tokens, &result.tokens})
      if (!read->empty()) begins_line_ = read->back() == kEnd;
    prompt_tokens_ = tokens.size();
    return result;
  }

  bool begins_line() const { return begins_line_; }
  size_t prompt_tokens() const { return prompt_tokens_; }  // of the last answer

  void print_speed(const infer::GenerateResult& result) const {
    std::string prompt;
    if (prompt_tokens_ > 0)
      prompt = "; prompt of " + with_thousands(static_cast<int64_t>(prompt_tokens_)) + " tokens, " +
               rate(prompt_tokens_, result.prompt_seconds);
    std::fprintf(stderr, "[%s tokens, %s%s]\n", with_thousands(std::ssize(result.tokens)).c_str(),
                 rate(result.tokens.size(), result.seconds).c_str(), prompt.c_str());
  }

 private:
  // A Transformer reads as when it is evaluated.
  static models::SlidingWindow sliding_window(const ModelOptions& options) {
    const auto* peer = std::get_if<TransformerLanguageOptions>(&options.model);
    if (peer == nullptr) return {};
    return {peer->window, std::min(peer->stride, peer->window)};
  }

  static void warn_of_unknown(const std::vector<int32_t>& tokens) {
    const auto unknown = std::count(tokens.begin(), tokens.end(), kUnknown);
    if (unknown > 0)
      std::fprintf(stderr, "warning: the model does not know %s of the prompt's %s tokens\n",
                   with_thousands(unknown).c_str(), with_thousands(std::ssize(tokens)).c_str());
  }

  infer::GenerateOptions options_;
  const Tokenizer& tokenizer_;
  models::TokenPredictor predictor_;
  bool begins_line_ = true;
  size_t prompt_tokens_ = 0;
};

// A line of standard input without its end; none: the input has ended. Ctrl-C drops what was typed.
std::optional<std::string> read_line() {
  const bool terminal = isatty(STDIN_FILENO) != 0;
  char* buffer = nullptr;
  size_t size = 0;
  ssize_t length = -1;
  while (true) {
    if (terminal) std::fputs("> ", stderr);
    InterruptGuard::forget();
    length = ::getline(&buffer, &size, stdin);
    if (length >= 0 || errno != EINTR || !InterruptGuard::interrupted()) break;
    std::clearerr(stdin);
    std::fputs("\n(Ctrl-D ends)\n", stderr);
  }
  std::optional<std::string> line;
  if (length >= 0) line.emplace(buffer, static_cast<size_t>(length));
  std::free(buffer);
  if (line && line->ends_with('\n')) line->pop_back();
  if (!line && terminal) std::fputs("\n", stderr);
  return line;
}

// Each line begins a line of the text, in which the model goes on. An empty one lets it go on where it is.
void talk(Dialogue& dialogue, Screen& screen, const std::string& prompt) {
  const auto answer = [&](const std::string& text) {
    const infer::GenerateResult result = dialogue.answer(text, &screen);
    screen.end_line();
    dialogue.print_speed(result);
  };
  if (!prompt.empty()) answer(prompt);
  while (const std::optional<std::string> line = read_line())
    answer(line->empty() || dialogue.begins_line() ? *line : "\n" + *line);
}

void print_json(const GenerateCommand& command, const std::string& prompt, const Dialogue& dialogue,
                const infer::GenerateResult& result) {
  nlohmann::ordered_json report;
  if (command.echo) report["prompt"] = prompt;
  report["text"] = result.text;
  report["tokens"] = result.tokens;
  report["reason"] = to_string(result.reason);
  report["mean_log_probability"] = result.mean_log_probability;
  report["prompt_tokens"] = dialogue.prompt_tokens();
  report["prompt_seconds"] = result.prompt_seconds;
  report["seconds"] = result.seconds;
  report["tokens_per_second"] =
      result.seconds > 0.0 ? static_cast<double>(result.tokens.size()) / result.seconds : 0.0;
  std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void GenerateCommand::run() {
  ops::set_threads(threads);
  const torch::Device on = train::parse_device(device);
  const train::SavedLanguageModel saved = load_language_model(model);
  saved.model->to(on);
  const std::string beginning = read_prompt();
  Dialogue dialogue(*this, saved, on);
  const InterruptGuard guard;
  Screen screen;
  if (echo && !json) screen.write(beginning);
  if (interactive) {
    talk(dialogue, screen, beginning);
    return;
  }
  const infer::GenerateResult result = dialogue.answer(beginning, json ? nullptr : &screen);
  if (json) {
    print_json(*this, beginning, dialogue, result);
  } else {
    screen.end_line();
    dialogue.print_speed(result);
  }
  constexpr int kInterrupted = 130;  // as a shell says it of SIGINT
  if (result.reason == infer::StopReason::interrupted) throw CLI::RuntimeError(kInterrupted);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto command = std::make_shared<GenerateCommand>();
  CLI::App* sub = app.add_subcommand("generate", "write text with a language model");
  sub->add_option("model", command->model, "model file or run directory")->required();
  CLI::Option* prompt =
      sub->add_option("--prompt", command->prompt, "text to go on from (default: the beginning of a text)");
  sub->add_option("prompt_file,--prompt-file", command->prompt_file,
                  "file with the prompt, - is standard input; a newline at its end does not count")
      ->excludes(prompt);
  sub->add_flag("--echo", command->echo, "print the prompt too (default: only what the model writes)");
  CLI::Option* interactive = sub->add_flag(
      "--interactive", command->interactive,
      "go on after each line that is typed; an empty one: write more; Ctrl-C stops an answer, Ctrl-D ends");
  add_flags(*sub, option_nodes(command->options));
  sub->add_option("--threads", command->threads, "threads; more read a long prompt faster; 0: all cores")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--device", command->device, "cpu, or cuda where libtorch has it (untested)")
      ->capture_default_str();
  sub->add_flag("--json", command->json, "for programs; at the end, not as it comes")->excludes(interactive);
  sub->callback([command] { command->run(); });
}

}  // namespace mega::cli
