#include "mega/infer/generation/generate.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "mega/infer/generation/generated_text.h"
#include "mega/text/tokens.h"

namespace mega::infer {
namespace {

using Clock = std::chrono::steady_clock;
using Write = std::function<bool(std::string_view)>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// False: interrupted.
bool read_prompt(Predictor& predictor, std::span<const int32_t> prompt, const Write& write) {
  if (predictor.position() == 0) predictor.feed(std::array<int32_t, 1>{kEnd});
  while (!prompt.empty()) {
    const size_t piece = std::min(prompt.size(), kPromptPiece);
    predictor.feed(prompt.first(piece));
    prompt = prompt.subspan(piece);
    if (!write("")) return false;
  }
  return true;
}

}  // namespace

bool begins_line(const Predictor& predictor, std::span<const int32_t> prompt) {
  return prompt.empty() ? predictor.position() == 0 : prompt.back() == kEnd;
}

GenerateResult generate(Predictor& predictor, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                        const GenerateOptions& options, const Write& write) {
  GeneratedText text(tokenizer, prompt, options, begins_line(predictor, prompt));
  auto start = Clock::now();
  bool wanted = read_prompt(predictor, prompt, write);
  const double prompt_seconds = seconds_since(start);

  start = Clock::now();
  while (wanted && !text.ended()) {
    const int32_t token = text.draw(predictor.logits());
    predictor.feed({&token, 1});
    wanted = write(text.piece());
  }
  if (wanted) {
    if (const std::string rest = text.finish(); !rest.empty()) wanted = write(rest);
  }
  GenerateResult result = text.result(!wanted);
  result.prompt_seconds = prompt_seconds;
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace mega::infer
