// How well a translator does on pairs of lines.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "cli/any_model.h"
#include "mega/data/parallel/pair_text.h"
#include "mega/infer/translation/shortlist.h"

namespace mega::cli {

// BLEU of its translations by the default search, as sacreBLEU computes it. `translated` is called after each
// line. Without a shortlist, all words are allowed.
double translation_bleu(const AnyTranslator& model, std::span<const data::Pair> pairs,
                        const std::function<void()>& translated,
                        std::shared_ptr<const infer::Shortlist> shortlist = nullptr);

}  // namespace mega::cli
