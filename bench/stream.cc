#include "bench/stream.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "bench/random_model.h"
#include "mega/base/error.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/strings.h"
#include "mega/infer/session.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"
#include "mega/text/tokens.h"

namespace mega::bench {

StreamResult run_stream(const StreamSettings& settings) {
  const TemporaryFolder folder;
  const ModelOptions options = chunked_language_model(settings.preset);
  const auto& language = std::get<LanguageModelOptions>(options.model);
  write_random_model(folder.path() / "model.safetensors", options);
  const auto model = infer::LanguageModel::open(folder.path() / "model.safetensors");
  infer::Session session(model, std::make_shared<infer::ThreadPool>(settings.threads));

  StreamResult result;
  result.tokens = settings.tokens;
  result.part = settings.tokens / 100;
  const int64_t chunk = language.block.chunk, first_end = chunk + result.part;
  require(result.part >= 1 && first_end <= settings.tokens - result.part, "a stream of ", settings.tokens,
          " tokens is too short to compare its beginning with its end: one chunk has ", chunk);
  Progress progress("streaming", settings.tokens, "tokens");
  using Clock = std::chrono::steady_clock;
  Clock::time_point start;
  const auto seconds = [&] {
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(result.part);
  };
  for (int64_t i = 0; i < settings.tokens; ++i) {
    if (i == chunk) result.early_mb = resident_mb();
    if (i == chunk || i == settings.tokens - result.part) start = Clock::now();
    const auto token = static_cast<int32_t>(kFirstSymbol + i * 7919 % (language.vocabulary - kFirstSymbol));
    session.feed({&token, 1});
    session.logits();
    if (i + 1 == first_end) result.first_seconds = seconds();
    if (i % 1000 == 0) progress.update(i);
    result.state_bytes = std::max(result.state_bytes, session.bytes());
  }
  result.last_seconds = seconds();
  result.late_mb = resident_mb();
  return result;
}

std::string StreamResult::markdown() const {
  const auto number = [](const char* format, double value) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return std::string(text);
  };
  Table table({"", "first " + with_thousands(part) + " after one chunk", "last " + with_thousands(part)});
  table.add(
      {"microseconds per token", number("%.2f", 1e6 * first_seconds), number("%.2f", 1e6 * last_seconds)});
  table.add({"resident memory, MB", number("%.1f", early_mb), number("%.1f", late_mb)});
  return with_thousands(tokens) + " tokens one by one; the state has at most " +
         human_bytes(static_cast<uint64_t>(state_bytes)) + "\n\n" + table.markdown();
}

std::string StreamResult::json() const {
  const nlohmann::ordered_json report = {{"tokens", tokens},
                                         {"part", part},
                                         {"first_seconds_per_token", first_seconds},
                                         {"last_seconds_per_token", last_seconds},
                                         {"state_bytes", state_bytes},
                                         {"early_resident_mb", early_mb},
                                         {"late_resident_mb", late_mb}};
  return report.dump(2) + "\n";
}

}  // namespace mega::bench
