#include "mega/infer/translation/score_pairs.h"

#include "mega/base/error.h"
#include "mega/infer/layers/check_tokens.h"

namespace mega::infer {

std::vector<std::vector<float>> score_pairs(StepDecoder& decoder, std::span<const std::vector<Token>> sources,
                                            std::span<const std::vector<Token>> targets) {
  require(sources.size() == targets.size(), sources.size(), " sources, but ", targets.size(), " targets");
  for (size_t i = 0; i < targets.size(); ++i) {
    require(!sources[i].empty() && sources[i].back() == kEnd, "source ", i + 1, " does not end with </s>");
    require(!targets[i].empty() && targets[i].back() == kEnd, "target ", i + 1, " does not end with </s>");
    require(std::ssize(targets[i]) <= decoder.max_positions(), "target ", i + 1, " has ", targets[i].size(),
            " tokens, the model at most ", decoder.max_positions(), " positions: shorten it");
    check_tokens(targets[i], decoder.vocabulary());
  }
  std::vector<std::vector<float>> scores(targets.size());
  if (targets.empty()) return scores;
  decoder.begin(sources);
  std::vector<size_t> active(targets.size());
  std::vector<int64_t> parents(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    active[i] = i;
    parents[i] = static_cast<int64_t>(i);
  }
  std::vector<Token> tokens;
  for (size_t step = 0; !active.empty(); ++step) {
    tokens.clear();
    for (const size_t i : active) tokens.push_back(step == 0 ? Token{kEnd} : targets[i][step - 1]);
    const auto rows = decoder.step(parents, tokens);
    std::vector<size_t> longer;
    parents.clear();
    for (size_t row = 0; row < active.size(); ++row) {
      const std::vector<Token>& target = targets[active[row]];
      const size_t column =
          row * static_cast<size_t>(decoder.vocabulary()) + static_cast<size_t>(target[step]);
      const float score = rows[column];
      require(score == score, "the log-probability of token ", target[step],
              " is NaN: the model's weights are damaged, or training diverged");
      scores[active[row]].push_back(score);
      if (step + 1 == target.size()) continue;
      longer.push_back(active[row]);
      parents.push_back(static_cast<int64_t>(row));
    }
    active = std::move(longer);
  }
  return scores;
}

}  // namespace mega::infer
