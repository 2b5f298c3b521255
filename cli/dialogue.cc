#include "cli/dialogue.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "cli/generation_report.h"
#include "cli/interrupt.h"
#include "mega/base/strings.h"
#include "mega/text/tokens.h"

namespace mega::cli {
namespace {

// The next line of standard input without its newline; nullopt at end of file.
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
    std::fputs("\n(Ctrl-D to exit)\n", stderr);
  }
  std::optional<std::string> line;
  if (length >= 0) line.emplace(buffer, static_cast<size_t>(length));
  std::free(buffer);
  if (line && line->ends_with('\n')) line->pop_back();
  if (!line && terminal) std::fputs("\n", stderr);
  return line;
}

}  // namespace

infer::GenerateResult Dialogue::answer(std::string_view text, Screen* screen) {
  const std::vector<int32_t> tokens = tokenizer_.encode(text);
  warn_of_unknown(tokens);
  const infer::GenerateResult result =
      generate(predictor_, tokenizer_, tokens, options_, [&](std::string_view piece) {
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

void Dialogue::talk(Screen& screen, const std::string& prompt) {
  const auto answer_on_screen = [&](const std::string& text) {
    const infer::GenerateResult result = answer(text, &screen);
    screen.end_line();
    print_speed(result);
  };
  if (!prompt.empty()) answer_on_screen(prompt);
  while (const std::optional<std::string> line = read_line())
    answer_on_screen(line->empty() || begins_line_ ? *line : "\n" + *line);
}

}  // namespace mega::cli
