#include "cli/commands/generation_report.h"

#include <algorithm>
#include <cstdio>

#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"
#include "mega/text/tokens.h"

namespace mega::cli {

std::string token_rate(size_t tokens, double seconds) {
  char text[48];
  const double rate = seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
  std::snprintf(text, sizeof text, rate < 100.0 ? "%.1f tokens/s" : "%.0f tokens/s", rate);
  return text;
}

nlohmann::ordered_json generation_report(const infer::GenerateResult& result, size_t prompt_tokens,
                                         const std::string* prompt) {
  nlohmann::ordered_json report;
  if (prompt != nullptr) report["prompt"] = *prompt;
  report["text"] = result.text;
  report["tokens"] = result.tokens;
  report["reason"] = to_string(result.reason);
  report["mean_log_probability"] = result.mean_log_probability;
  report["prompt_tokens"] = prompt_tokens;
  report["prompt_seconds"] = result.prompt_seconds;
  report["seconds"] = result.seconds;
  report["tokens_per_second"] =
      result.seconds > 0.0 ? static_cast<double>(result.tokens.size()) / result.seconds : 0.0;
  return report;
}

void print_json(const nlohmann::ordered_json& report, int indent) {
  std::printf("%s\n", json_text(report, indent).c_str());
  require(std::fflush(stdout) == 0, "cannot write to standard output");
}

void warn_of_unknown(std::span<const int32_t> prompt) {
  const auto unknown = std::count(prompt.begin(), prompt.end(), kUnknown);
  if (unknown > 0)
    std::fprintf(stderr, "warning: the model does not know %s of the prompt's %s tokens\n",
                 with_thousands(unknown).c_str(), with_thousands(std::ssize(prompt)).c_str());
}

}  // namespace mega::cli
