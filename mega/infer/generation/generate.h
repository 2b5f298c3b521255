// A text that a model writes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/options.h"
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
    v.field("max_tokens", self.max_tokens, "write at most so many tokens; 0 only reads the prompt",
            Range{0, 1e12});
    v.field("stop", self.stop, "end where one of these texts would come");
    v.nested("sampler", self.sampler, "how a token is drawn");
  }
};

struct GenerateResult {
  std::vector<int32_t> tokens;  // all that were drawn, those of a stop string too
  std::string text;             // all that was written
  StopReason reason = StopReason::max_tokens;
  double prompt_seconds = 0.0;
  double seconds = 0.0;  // of writing
  double mean_log_probability =
      0.0;  // of what was drawn, as the model gave it, before any option; 0 if nothing
};

// Whether what comes after the prompt stands at the beginning of a line. A predictor that has read something
// does not tell how it ended: without a prompt it goes on in the line.
bool begins_line(const Predictor& predictor, std::span<const int32_t> prompt);

// Reads the prompt, then writes. A predictor that has read nothing gets </s> first; one that has goes on from
// where it is. It has read all tokens of the result afterwards.
//
// `write` is called with each piece of text as soon as it is safe to print, and with "" where there is none:
// after each piece of the prompt and each token, so that it can end the work at any time by giving false.
GenerateResult generate(Predictor& predictor, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                        const GenerateOptions& options, const std::function<bool(std::string_view)>& write);

}  // namespace mega::infer
