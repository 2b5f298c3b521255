#include "cli/commands/dialogue.h"

#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "cli/commands/dialogue_commands.h"
#include "cli/commands/generation_report.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/typed_lines.h"
#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/infer/session.h"
#include "mega/text/tokens.h"

namespace mega::cli {
namespace {

constexpr const char* kAfterInterrupt = "(Ctrl-D or /quit to end)";
constexpr const char* kGreeting =
    "The model continues what you type; after an empty line it just writes on.\n"
    "Ctrl-C stops an answer, Ctrl-D or /quit ends, /help lists the commands.\n";

}  // namespace

Dialogue::Dialogue(const AnyLanguageModel& model, const infer::GenerateOptions& options)
    : model_(model), options_(options) {
  reset();
}

infer::GenerateResult Dialogue::answer(std::string_view text, Screen* screen) {
  const std::vector<int32_t> tokens = model_.tokenizer().encode(text);
  warn_of_unknown(tokens);
  const infer::GenerateResult result =
      generate(*predictor_, model_.tokenizer(), tokens, options_, [&](std::string_view piece) {
        if (screen != nullptr) screen->write(piece);
        return !InterruptGuard::interrupted();
      });
  ++options_.sampler.seed;  // the next answer uses new random numbers
  for (const auto* read : {&tokens, &result.tokens})
    if (!read->empty()) begins_line_ = read->back() == kEnd;
  prompt_tokens_ = tokens.size();
  return result;
}

void Dialogue::print_speed(const infer::GenerateResult& result) const {
  std::string prompt;
  if (prompt_tokens_ > 0)
    prompt = "; prompt of " + with_thousands(static_cast<int64_t>(prompt_tokens_)) + " tokens, " +
             token_rate(prompt_tokens_, result.prompt_seconds);
  std::fprintf(stderr, "[%s tokens, %s%s]\n", with_thousands(std::ssize(result.tokens)).c_str(),
               token_rate(result.tokens.size(), result.seconds).c_str(), prompt.c_str());
}

void Dialogue::take_turn(Screen& screen, const std::string& line) {
  const infer::GenerateResult result = answer(line.empty() || begins_line_ ? line : "\n" + line, &screen);
  screen.end_line();
  print_speed(result);
}

void Dialogue::talk(Screen& screen, const std::string& prompt) {
  TypedLines lines(kAfterInterrupt);
  if (lines.are_typed()) std::fputs(kGreeting, stderr);
  if (!prompt.empty()) {
    const infer::GenerateResult result = answer(prompt, &screen);
    screen.end_line();
    print_speed(result);
  }
  while (const std::optional<std::string> line = lines.next()) {
    if (!lines.are_typed()) {
      take_turn(screen, *line);
      continue;
    }
    try {
      if (!is_command(*line))
        take_turn(screen, without_escape(*line));
      else if (!run_command(*this, *line))
        return;
    } catch (const Error& error) {
      screen.end_line();
      std::fprintf(stderr, "%s\n", printable_lines(error.what()).c_str());
    }
  }
}

void Dialogue::start_from(std::unique_ptr<infer::Predictor> predictor) {
  predictor_ = std::move(predictor);
  begins_line_ = predictor_->position() == 0;
}

void Dialogue::reset() { start_from(model_.make()); }

bool Dialogue::has_state() const { return dynamic_cast<const infer::Session*>(predictor_.get()) != nullptr; }

void Dialogue::save(const std::string& file) const {
  const auto* session = dynamic_cast<const infer::Session*>(predictor_.get());
  require(session != nullptr, "only Mega models have a state to save");
  session->save(file);
}

void Dialogue::load(const std::string& file) { start_from(model_.load(file)); }

}  // namespace mega::cli
