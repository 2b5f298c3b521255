#include "mega/infer/generate.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "mega/base/error.h"
#include "mega/config/tokens.h"
#include "mega/infer/log_probability.h"
#include "mega/infer/text_output.h"

namespace mega::infer {
namespace {

using Clock = std::chrono::steady_clock;
using Write = std::function<bool(std::string_view)>;

// Long enough for a chunk to be read at full speed, short enough to be interrupted.
constexpr size_t kPromptPiece = 1024;

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

// A model may have more token types than its tokenizer; those beyond have no text.
std::span<const float> logits_with_text(std::span<const float> logits, const Tokenizer& tokenizer) {
  const auto types = static_cast<size_t>(tokenizer.size());
  require(logits.size() >= types, "the model knows ", logits.size(), " token types and its tokenizer ", types,
          ": they do not belong together");
  return logits.first(types);
}

}  // namespace

GenerateResult generate(Predictor& predictor, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                        const GenerateOptions& options, const Write& write) {
  check_ranges(options, "generate");
  for (const int32_t token : prompt)
    require(token >= 0 && token < tokenizer.size(), "the prompt has token ", token, ": expected 0 to ",
            tokenizer.size() - 1);
  const bool begins_line = prompt.empty() ? predictor.position() == 0 : prompt.back() == kEnd;
  TextOutput output(options.stop, begins_line);
  Sampler sampler(options.sampler);
  GenerateResult result;

  auto start = Clock::now();
  bool wanted = read_prompt(predictor, prompt, write);
  result.prompt_seconds = seconds_since(start);

  start = Clock::now();
  std::vector<int32_t> history(prompt.begin(), prompt.end());
  const auto pass_on = [&](const std::string& text) {
    result.text += text;
    wanted = write(text);
  };
  double log_probabilities = 0.0;
  while (wanted && !output.stopped() && std::ssize(result.tokens) < options.max_tokens) {
    const std::span<const float> logits = predictor.logits();
    const int32_t token = sampler.draw(logits_with_text(logits, tokenizer), history);
    log_probabilities += log_probability(logits, token);
    history.push_back(token);
    result.tokens.push_back(token);
    predictor.feed({&token, 1});
    pass_on(output.add(tokenizer.text(token, output.begins_line())));
  }
  if (wanted && !output.stopped()) {
    if (const std::string rest = output.finish(); !rest.empty()) pass_on(rest);
  }
  result.seconds = seconds_since(start);

  // A stop string that came is the reason even if the last piece was one too many.
  result.reason = output.stopped() ? StopReason::stop_string
                  : wanted         ? StopReason::max_tokens
                                   : StopReason::interrupted;
  if (!result.tokens.empty())
    result.mean_log_probability = log_probabilities / static_cast<double>(result.tokens.size());
  return result;
}

}  // namespace mega::infer
