#include "cli/commands/translation_quality.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mega/infer/translation/text_translator.h"
#include "mega/text/metrics/metric.h"

namespace mega::cli {

double translation_bleu(const AnyTranslator& model, std::span<const data::Pair> pairs,
                        const std::function<void()>& translated,
                        std::shared_ptr<const infer::Shortlist> shortlist) {
  const auto& input = std::get<TranslationInput>(model.signature.input.input);
  infer::TextTranslator translator(
      model.decoder, make_translation_texts(model.signature, model.source_types, model.target_types),
      input.max_length, {}, std::move(shortlist));
  std::vector<std::string> translations;
  size_t next = 0;
  infer::TranslateRequest request;
  request.next_line = [&]() -> std::optional<std::string> {
    return next < pairs.size() ? std::optional(pairs[next++].source) : std::nullopt;
  };
  request.use = [&](const infer::TranslatedLine& line) {
    translations.push_back(line.translations.front().text);
    translated();
  };
  translator.translate(request);
  std::vector<std::vector<std::string>> references(1);
  const bool cut = input.tokenize == WordCutting::none;  // references are what they were trained to be
  for (const data::Pair& pair : pairs)
    references.front().push_back(cut ? TranslationText::restore(pair.target, target_text(input))
                                     : pair.target);
  const auto bleu = make_metric(MetricKind::bleu, {});
  return bleu->score(sum_of(corpus_statistics(*bleu, translations, references)));
}

}  // namespace mega::cli
