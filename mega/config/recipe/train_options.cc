#include "mega/config/recipe/train_options.h"

#include <charconv>

namespace mega {

Period parse_period(const std::string& text) {
  if (text.empty() || text == "0") return {};
  Period period;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, period.count);
  const std::string_view name(unit, static_cast<size_t>(end - unit));
  const auto is = [&](Period::Unit kind, double factor) {
    period.unit = kind;
    period.count *= factor;
  };
  if (name == "u") is(Period::Unit::updates, 1);
  if (name == "e") is(Period::Unit::epochs, 1);
  if (name == "s") is(Period::Unit::seconds, 1);
  if (name == "m") is(Period::Unit::seconds, 60);
  if (name == "h") is(Period::Unit::seconds, 3600);
  require(
      error == std::errc() && period.unit != Period::Unit::never && period.count > 0 && period.count < 1e12,
      "expected how often, as in 500u (updates), 1e (epochs), 30s, 10m or 2h, got ", in_quotes(text));
  return period;
}

namespace {

bool is_duration(const std::string& text) {
  try {
    return parse_period(text).unit == Period::Unit::seconds;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void validate(const TrainOptions& options) {
  check_ranges(options, "train");
  // Only training shows how many updates an epoch or the time is.
  const bool counts = options.time.empty() && options.epochs == 0.0;
  require(!counts || options.warmup <= options.updates, "train: warmup: ", options.warmup,
          " updates of warm-up do not fit into ", options.updates, " updates in all");
  require(options.final_learning_rate <= options.learning_rate,
          "train: final_learning_rate: ", options.final_learning_rate,
          " is above learning_rate = ", options.learning_rate);
  require(options.beta1 < 1 && options.beta2 < 1, "train: beta1 and beta2 must be below 1, got ",
          options.beta1, " and ", options.beta2);
  require(options.blocks.min_chunks <= options.blocks.max_chunks,
          "train: blocks.min_chunks: ", options.blocks.min_chunks,
          " is more than max_chunks = ", options.blocks.max_chunks);
  require(options.translation.select != TranslationScore::bleu || options.translation.sentences > 0,
          "train: translation.select: BLEU cannot choose the best model if nothing is translated; set "
          "translation.sentences");
  for (const auto& [name, text] :
       {std::pair{"evaluate", options.evaluate}, {"checkpoint", options.checkpoint}}) {
    try {
      parse_period(text);
    } catch (const Error& error) {
      fail("train: ", name, ": ", error.what());
    }
  }
  require(options.time.empty() || is_duration(options.time),
          "train: time: expected a duration such as 90s, 10m or 2h, got ", in_quotes(options.time));
  require(options.time.empty() || options.epochs == 0.0, "train: set either epochs or time, not both");
}

}  // namespace mega
