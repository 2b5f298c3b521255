// Generates text with a language model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/infer/generation/predictor.h"
#include "mega/infer/generation/sampler.h"
#include "mega/text/tokenizer.h"

namespace mega::infer {

enum class StopReason { max_tokens, stop_string, interrupted };

}  // namespace mega::infer

template <>
struct mega::EnumNames<mega::infer::StopReason> {
  using Reason = mega::infer::StopReason;
  static constexpr auto names = enum_table<Reason>({{Reason::max_tokens, "max_tokens"},
                                                    {Reason::stop_string, "stop_string"},
                                                    {Reason::interrupted, "interrupted"}});
};

namespace mega::infer {

struct GenerateOptions {
  int64_t max_tokens = 256;
  std::vector<std::string> stop;
  SamplerOptions sampler;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("max_tokens", self.max_tokens, "max number of tokens to generate; 0 only reads the prompt",
            Range{0, 1e12});
    v.field("stop", self.stop, "stop before this string");
    v.nested("sampler", self.sampler, "sampling of a token");
  }
};

struct GenerateResult {
  std::vector<int32_t> tokens;  // all sampled tokens, including those of a stop string
  std::string text;             // the generated text
  StopReason reason = StopReason::max_tokens;
  double prompt_seconds = 0.0;
  double seconds = 0.0;               // time to generate
  double mean_log_probability = 0.0;  // of the sampled tokens, unmodified by options; 0 if there are none
};

// Whether the text after the prompt starts at the beginning of a line. If the predictor has already read
// something and the prompt is empty, the answer is no, because it is unknown how that text ended.
bool begins_line(const Predictor& predictor, std::span<const int32_t> prompt);

// Reads the prompt, then generates. A new predictor is fed </s> first; otherwise it continues from its
// position. Afterwards it has read all tokens of the result.
//
// `write` is called with each piece of text as soon as it is safe to print, or with "", after each piece of
// the prompt and each token; it can stop generation at any time by returning false.
GenerateResult generate(Predictor& predictor, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                        const GenerateOptions& options, const std::function<bool(std::string_view)>& write);

}  // namespace mega::infer
